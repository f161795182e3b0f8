"""The handlers: one module a kind of job."""
