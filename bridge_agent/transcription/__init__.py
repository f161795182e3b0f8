"""Transcription: reads a book's audio, plans its parts, has engines hear them, assembles the transcript.

It knows no HTTP and no server: a job becomes a recording, a plan and its parts, each part a leased task.
An executor runs a task; the local one uses engine children on this machine.
"""
