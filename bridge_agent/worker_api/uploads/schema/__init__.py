"""The schema of the uploads' store."""
