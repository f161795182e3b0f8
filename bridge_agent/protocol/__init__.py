"""The wires as types, and the pure rules of leases: what both halves agree on, with no I/O in it."""
