"""File kinds by name: which files are audio, pictures or sidecars, and under which type they are served."""

from typing import Literal

FileKind = Literal["audio", "picture", "sidecar"]

# A-31; the order is the preference among versions of one book: chapters and one file first.
AUDIO = {
    ".m4b": "audio/mp4",
    ".m4a": "audio/mp4",
    ".mp4": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".opus": "audio/ogg",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".flac": "audio/flac",
    ".aac": "audio/aac",
    ".wma": "audio/x-ms-wma",
    ".webm": "audio/webm",
    ".webma": "audio/webm",
    ".mka": "audio/x-matroska",
    ".aiff": "audio/aiff",
    ".aif": "audio/aiff",
    ".wav": "audio/wav",
    ".awb": "audio/amr-wb",
    ".caf": "audio/x-caf",
    ".mpg": "audio/mpeg",
    ".mpeg": "audio/mpeg",
}
# Formats in which one file is usually a whole book.
BOOK_CONTAINERS = frozenset({".m4b", ".m4a", ".mp4"})
PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
_SIDECARS = frozenset({"desc.txt", "reader.txt", "metadata.json"})
_RANK = {extension: place for place, extension in enumerate(AUDIO)}


def extension_of(name: str) -> str:
    """Return a name's extension in lower case with its dot, or an empty text."""
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def stem_of(name: str) -> str:
    """Return a name without its extension."""
    dot = name.rfind(".")
    return name[:dot] if dot > 0 else name


def kind_of(name: str) -> FileKind | None:
    """Return what a file is by its name alone, or None for what the index has no use for."""
    extension = extension_of(name)
    if extension in AUDIO:
        return "audio"
    if extension in PICTURES:
        return "picture"
    if extension in (".opf", ".cue") or name.lower() in _SIDECARS:
        return "sidecar"
    return None


def preference(extension: str) -> int:
    """Return the place of an audio format among versions of one book; the lowest is the main one."""
    return _RANK.get(extension, len(_RANK))


def content_type(name: str) -> str:
    """Return the type under which an indexed file is served."""
    extension = extension_of(name)
    return AUDIO.get(extension) or PICTURES.get(extension) or "application/octet-stream"
