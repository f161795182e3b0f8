"""The Bridge's schema: what link, mapping, jobs and page keep in `bridge.sqlite3`."""
