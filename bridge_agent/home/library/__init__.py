"""The library index: which audiobooks lie below a folder, found by scans and kept in a SQLite file."""
