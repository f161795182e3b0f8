"""The use cases of workers, over the tasks of the transcription pipeline; no word of HTTP is in here."""
