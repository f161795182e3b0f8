"""The Bridge as a client of the server: pairing, the state of the link, heartbeat, claims, reports."""
