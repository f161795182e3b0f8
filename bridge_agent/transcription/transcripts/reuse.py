"""The reuse key: equal for books whose files and settings would give the same transcript again."""

import hashlib
from collections.abc import Iterable

import msgspec

from bridge_agent.transcription.model import Settings

_VERSION = "1"


def reuse_key(files: Iterable[tuple[str, int, str]], settings: Settings, engine: str, model: str) -> str:
    """Return a hash over (path within the book, size, content's mark) of each file, settings, engine.

    `model` is the engine's own name for its weights, a folder's with its content hash; device and compute
    type do not count: they change a few words at most, and a book is not done anew for them.
    """
    deciding = [_VERSION, [list(file) for file in files], settings, engine, model]
    return hashlib.sha256(msgspec.json.encode(deciding, order="sorted")).hexdigest()
