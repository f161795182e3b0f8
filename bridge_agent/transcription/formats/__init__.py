"""The four files a transcript is kept and sent as: JSON, WebVTT, SubRip and plain text."""

from bridge_agent.transcription.formats.documents import (
    CONTENT_TYPES,
    Document,
    documents,
    json_bytes,
    read_json,
    srt_bytes,
    txt_bytes,
    vtt_bytes,
)

__all__ = [
    "CONTENT_TYPES",
    "Document",
    "documents",
    "json_bytes",
    "read_json",
    "srt_bytes",
    "txt_bytes",
    "vtt_bytes",
]
