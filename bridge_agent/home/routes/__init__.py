"""The JSON routes of the home server: each reads a request, calls one use case and words its answer."""
