"""Why an engine child ended, from its exit code and last words, as one sentence a person can act on."""

import re

from bridge_agent.base import children
from bridge_agent.transcription.engines.errors import EngineDied, OutOfMemory

_MISSING = (
    re.compile(r"could not (?:load|locate) (?:dynamic )?library '?([\w.+-]+)", re.IGNORECASE),
    re.compile(r"could not locate ([\w.+-]+\.dll)", re.IGNORECASE),
    re.compile(r"library '?([\w.+-]+)'? is not found or cannot be loaded", re.IGNORECASE),
    re.compile(r"unable to load any of \{?'?([\w.+-]+)", re.IGNORECASE),
    re.compile(r"error while loading shared libraries: ([\w.+-]+)", re.IGNORECASE),
    re.compile(r"\b([\w.+-]+\.(?:so[\w.]*|dylib|dll)): cannot open shared object file", re.IGNORECASE),
)
_NO_MEMORY = re.compile(r"out of memory|bad_alloc|cannot allocate memory|memoryerror", re.IGNORECASE)
_KILLED = {-9, 137}


def missing_library(last_words: str) -> str | None:
    """Return the name of a library that could not be loaded, where the last words hold one."""
    for pattern in _MISSING:
        if found := pattern.search(last_words):
            return found.group(1).rstrip(".")
    return None


def explain(code: int | None, last_words: str, device: str) -> EngineDied:
    """Return the error for a child that ended by itself with this code."""
    if (library := missing_library(last_words)) is not None:
        advice = "install it, or set BRIDGE_SPEECH_DEVICE=cpu" if device == "cuda" else "install it"
        return EngineDied(f"The speech engine needs the library {library}, which is missing here; {advice}.")
    if code in _KILLED or _NO_MEMORY.search(last_words):
        return OutOfMemory()
    if children.crashed(code):
        return EngineDied(
            f"The speech engine crashed in native code (exit code {code}); "
            "choose another model or set BRIDGE_SPEECH_DEVICE=cpu."
        )
    return EngineDied(
        f"The speech engine's process ended unexpectedly (exit code {code}); "
        "look at the log for its last words."
    )
