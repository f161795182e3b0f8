"""The library index's schema: what scans found, in `library.sqlite3`; a scan can make all of it anew."""
