"""The worker (`bridge-agent worker`): another machine that transcribes parts for a Bridge.

It speaks the coordinator's wire, hears with the same engine children as a Bridge, and owns nothing beyond the
parts in its hands. `worker.Worker` claims, `hold.Hold` is one part's way from its claim to its result,
`claim.Claim` keeps the lease alive beside it, `shelf.Shelf` keeps finished parts until they are taken.
"""
