"""Uploaded jobs: their tasks, their files and what becomes of both, in a store of their own.

Parts of audio are no tasks here: those are the transcription pipeline's, whoever asked for them. A job of the
workload `transcribe` is only kept here with its file and its final result.
"""
