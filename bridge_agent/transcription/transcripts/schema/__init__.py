"""The schema of transcripts.sqlite3."""
