"""The wire of the public coordinator's workers, at the listener's root.

Its forms are in here alone: error texts, request ids, case-insensitive names, unknown members refused, plain
404s. What it serves are uploaded tables' tasks, and the parts of audio that the service leases.
"""
