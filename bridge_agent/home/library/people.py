"""Lists of people's names: split only where it is sure, shown as they were written where it is not."""

import re

from bridge_agent.home.library.text import fold, nfc

_STRONG = re.compile(r"\s*[;]\s*|\s+/\s+|\s*//\s*")
_AND = re.compile(r"\s*&\s*|\s+(?:and|und)\s+", re.IGNORECASE)
_SUFFIXES = frozenset(
    {"jr", "jr.", "sr", "sr.", "ii", "iii", "iv", "phd", "ph.d.", "md", "m.d.", "esq", "esq."}
)


def split_people(text: str) -> list[str]:
    """Return the people that a text names, each First Last, each once (A-67…A-72).

    `;` always parts names, `&` and `and` unless they join first names (`John and Jane Doe`), a comma only
    where both sides are whole names, or where it turns one around (`King, Stephen`). What is in doubt stays
    one name.
    """
    found: dict[str, str] = {}
    for piece in _STRONG.split(" ".join(nfc(text).split())):
        for name in _joined(piece):
            found.setdefault(fold(name), name)
    return [name for name in found.values() if name]


def _joined(piece: str) -> list[str]:
    pieces = [part for part in _AND.split(piece) if part]
    if len(pieces) > 1 and _shared_surname(pieces):
        return [piece]
    return [name for part in pieces for name in _by_comma(part)]


def _shared_surname(pieces: list[str]) -> bool:
    """Tell whether `John and Jane Doe` would lose a surname when split."""
    whole = [len(piece.split()) > 1 for piece in pieces]
    return whole[-1] and not all(whole) and not any("," in piece for piece in pieces)


def _by_comma(text: str) -> list[str]:
    parts = _with_suffixes([part.strip() for part in text.split(",") if part.strip()])
    if len(parts) < 2:
        return parts
    if all(len(part.split()) > 1 for part in parts):
        return parts
    # Last, First, Last, First: each odd part is a surname of one word, each even one is a first name.
    if len(parts) % 2 == 0 and all(len(part.split()) == 1 for part in parts[::2]):
        return [f"{first} {last}" for last, first in zip(parts[::2], parts[1::2], strict=True)]
    return [", ".join(parts)]


def _with_suffixes(parts: list[str]) -> list[str]:
    """Put `Jr.` back to the name it belongs to."""
    found: list[str] = []
    for part in parts:
        if found and part.lower() in _SUFFIXES:
            found[-1] += f", {part}"
        else:
            found.append(part)
    return found
