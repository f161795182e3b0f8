"""The files of a transcript by name: what they hold and the type they are served as."""

import hashlib
from dataclasses import dataclass

import msgspec

from bridge_agent.transcription.assembly.transcript import Transcript
from bridge_agent.transcription.formats.cues import Cue, cues
from bridge_agent.transcription.formats.srt import srt
from bridge_agent.transcription.formats.txt import txt
from bridge_agent.transcription.formats.vtt import vtt

CONTENT_TYPES = {
    "transcript.json": "application/json",
    "transcript.vtt": "text/vtt",
    "transcript.srt": "application/x-subrip",
    "transcript.txt": "text/plain",
}
"""The names of a transcript's files and their types, in the order in which they are listed."""


@dataclass(frozen=True)
class Document:
    """A file's name, type and bytes."""

    name: str
    content_type: str
    content: bytes

    @property
    def sha256(self) -> str:
        """The SHA-256 of its bytes in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()


def documents(transcript: Transcript) -> list[Document]:
    """Return all four files; equal transcripts give equal bytes. Takes a second or two for a long book."""
    found = cues(transcript)
    contents = {
        "transcript.json": json_bytes(transcript),
        "transcript.vtt": vtt_bytes(transcript, found),
        "transcript.srt": srt_bytes(transcript, found),
        "transcript.txt": txt_bytes(transcript),
    }
    return [Document(name, CONTENT_TYPES[name], content) for name, content in contents.items()]


def json_bytes(transcript: Transcript) -> bytes:
    """Return `transcript.json`."""
    return msgspec.json.encode(transcript) + b"\n"


def read_json(raw: bytes) -> Transcript:
    """Read a `transcript.json`; raises msgspec.DecodeError for anything else."""
    return msgspec.json.decode(raw, type=Transcript)


def vtt_bytes(transcript: Transcript, found: list[Cue] | None = None) -> bytes:
    """Return `transcript.vtt`."""
    return vtt(transcript, cues(transcript) if found is None else found).encode()


def srt_bytes(transcript: Transcript, found: list[Cue] | None = None) -> bytes:
    """Return `transcript.srt`."""
    return srt(cues(transcript) if found is None else found).encode()


def txt_bytes(transcript: Transcript) -> bytes:
    """Return `transcript.txt`."""
    return txt(transcript).encode()
