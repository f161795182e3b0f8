"""The home server: who may come in, which Bridge is paired, what was asked of it, and who holds each job.

The server owns the intent and the lease (`bridge_jobs`), never what was done with it. A claim is a term: the
job's id and its attempt. Lease deadlines are monotonic seconds of this process; the wall time beside each is
for people and for the next start, which turns it back into a deadline (`first_start.rebase`).
"""
