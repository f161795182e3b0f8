"""Folder names as metadata: author, series, number, year, narrators and title (A-55…A-66)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bridge_agent.home.library.people import split_people
from bridge_agent.home.library.text import nfc

_ASIN = re.compile(r"\s*\[([A-Z0-9]{10})\]\s*")
_NARRATORS = re.compile(r"^(?P<rest>.*?)\s*\{(?P<names>[^{}]+)\}\s*$")
_LABELLED = re.compile(
    r"(?:vol\.? |volume |book )(?P<number>\d+(?:\.\d{1,2})?)(?P<dot>\.?)(?: (?P<rest>.*))?\Z", re.IGNORECASE
)
_BARE = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,2})?)(?P<dot>\.?)(?: (?P<rest>.*))?\Z")
_YEAR = re.compile(r"\(?(?P<year>\d{4})\)? - (?P<rest>\S.*)\Z")
_BETWEEN = " - "
_UNTITLED = "Untitled"


@dataclass(frozen=True)
class Names:
    """What the names of a book's folders say; empty where they say nothing."""

    title: str
    authors: tuple[str, ...] = ()
    series: str = ""
    sequence: str = ""
    narrators: tuple[str, ...] = ()
    year: str = ""
    asin: str = ""


def read_names(levels: Sequence[str], *, root_file: bool = False) -> Names:
    """Read the names from the library's root to the book; only the last three count (A-06…A-09).

    A file at the root is never taken apart (A-02), a subtitle never from the title (A-62).
    """
    if root_file:
        return Names(title=_clean(levels[-1]) or _UNTITLED)
    series = _clean(levels[-2]) if len(levels) > 2 else ""
    author = levels[-3] if len(levels) > 2 else levels[-2] if len(levels) > 1 else ""
    text, asin = _take_asin(_clean(levels[-1]))
    text, narrators = _take_narrators(text)
    sequence = ""
    if series:
        text, sequence = _take_sequence(text)
    text, year = _take_year(text)
    return Names(
        title=text.strip(" -") or _fallback(levels[-1]),
        authors=tuple(split_people(author)),
        series=series,
        sequence=sequence,
        narrators=tuple(narrators),
        year=year,
        asin=asin,
    )


def tidy_sequence(text: str) -> str:
    """Return a series number as it is shown: leading zeros dropped, anything else kept (A-56)."""
    text = text.strip()
    whole, dot, part = text.partition(".")
    if whole.isascii() and whole.isdigit() and (not dot or part.isdigit()):
        part = part.rstrip("0")
        return f"{int(whole)}.{part}" if part else str(int(whole))
    return text


def _clean(name: str) -> str:
    """Return a name in NFC with its spaces tidied; edge spaces belong to the path alone (A-86)."""
    return " ".join(nfc(name).split())


def _take_asin(text: str) -> tuple[str, str]:
    found = _ASIN.search(text)
    if found is None:
        return text, ""
    return (text[: found.start()] + " " + text[found.end() :]).strip(), found[1]


def _take_narrators(text: str) -> tuple[str, list[str]]:
    found = _NARRATORS.match(text)
    if found is None:
        return text, []
    names = found["names"]
    people = split_people(names)
    # In braces a comma parts names even where each is one word.
    if len(people) == 1 and "," in names and ";" not in names:
        people = [name.strip() for name in names.split(",") if name.strip()]
    return found["rest"].strip(), people


def _take_sequence(text: str) -> tuple[str, str]:
    """Take the first piece between " - " that is a number: labelled ones of any length, bare ones to 999."""
    pieces = text.split(_BETWEEN)
    for i, piece in enumerate(pieces):
        piece = piece.removesuffix(" -") if i == len(pieces) - 1 else piece
        found = _LABELLED.match(piece)
        if found is None:
            found = _BARE.match(piece)
            # "101 Dalmations" is a title, "101. Dalmations" is number 101.
            if found is None or (found["rest"] and not found["dot"]):
                continue
        rest = [found["rest"]] if found["rest"] else []
        return _BETWEEN.join([*pieces[:i], *rest, *pieces[i + 1 :]]), tidy_sequence(found["number"])
    return text, ""


def _take_year(text: str) -> tuple[str, str]:
    found = _YEAR.match(text)
    return (found["rest"], found["year"]) if found else (text, "")


def _fallback(name: str) -> str:
    """Return a title for a folder whose name is a number alone: the name itself (A-59)."""
    text, _ = _take_narrators(_take_asin(_clean(name))[0])
    return text.strip(" -") or _clean(name) or _UNTITLED
