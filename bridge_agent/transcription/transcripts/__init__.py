"""The transcripts kept on this machine: their files, their list, and one search across all books."""

from bridge_agent.transcription.transcripts.kept import Kept, KeptFile, KeptPage
from bridge_agent.transcription.transcripts.reuse import reuse_key
from bridge_agent.transcription.transcripts.search import BadCursor, Hit, Hits
from bridge_agent.transcription.transcripts.transcripts import (
    TranscriptDamaged,
    Transcripts,
    open_transcripts,
)

__all__ = [
    "BadCursor",
    "Hit",
    "Hits",
    "Kept",
    "KeptFile",
    "KeptPage",
    "TranscriptDamaged",
    "Transcripts",
    "open_transcripts",
    "reuse_key",
]
