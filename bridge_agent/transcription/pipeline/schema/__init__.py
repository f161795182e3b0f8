"""The pipeline's schema: recordings, their tasks and finished parts, in `transcription.sqlite3`."""
