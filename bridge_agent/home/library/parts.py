"""Folder names that make a folder a part of one book rather than a book of its own (A-15…A-25)."""

import re
from dataclasses import dataclass

from bridge_agent.home.library.numbers import ROMAN_PATTERN, WORD_PATTERN, value_of
from bridge_agent.home.library.text import fold, word_set

_FIGURES = r"(?P<number>\d+)(?P<letter>[a-d])?"
_SPELT = rf"(?P<spelt>{WORD_PATTERN}|{ROMAN_PATTERN})"
_OF = r"(?:[\s_.\-(\[]*(?:of|von|de|/)[\s_]*\d+[)\]]?)?"
_SEPARATOR = r"[\s_.\-#]"
# Only these may carry more text: nobody names a book "CD 1 - …", while "Part 17 - …" is a title.
_DISC = re.compile(
    rf"[\[(]?(?:cd|disc|disk|dvd)(?:{_SEPARATOR}*{_FIGURES}|{_SEPARATOR}+{_SPELT}){_OF}[)\]]?"
    r"(?P<rest>[\s_\-:.].*)?\Z"
)
_PART = re.compile(
    rf"[\[(]?(?:part|teil|pt|parte|partie|deel|del|section|abschnitt|chapter|kapitel|seite|side|kassette|cassette|tape|mc|lp)"
    rf"(?:{_SEPARATOR}*{_FIGURES}|{_SEPARATOR}+{_SPELT}|{_SEPARATOR}+(?P<side>[a-h])){_OF}[)\]]?\Z"
)
_TITLED = re.compile(
    rf"(?P<title>.+?)[\s_\-.,]+[\[(]?(?:cd|disc|disk){_SEPARATOR}*(?P<number>\d+){_OF}[)\]]?\s*\Z",
    re.IGNORECASE,
)
_CLOSING = word_set(
    "bonus extra extras bonusmaterial interview interviews outtakes credits appendix anhang zugabe epilog "
    "epilogue nachwort afterword outro acknowledgements acknowledgments danksagung abspann"
)
_OPENING = word_set(
    "intro introduction einleitung prolog prologue vorwort foreword preface opening titel dedication widmung"
)
_FORMATS = word_set(
    "mp3 m4b m4a mp4 flac aac ogg opus wav wma audio audiobook audiobooks audios horbuch hoerbuch"
)
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Part:
    """Which part of its book a folder is; `side` counts letters of one disc (`Disc 1a`)."""

    number: int
    side: int = 0


def part_of(name: str) -> Part | None:
    """Return which part a folder name says it is, or None for any other name."""
    text = fold(name)
    found = _DISC.match(text) or _PART.match(text)
    if found is None:
        return None
    groups = found.groupdict()
    if groups.get("side"):
        return Part(ord(groups["side"]) - ord("a") + 1)
    number = value_of(groups["number"] or groups["spelt"])
    letter = groups["letter"]
    return None if number is None else Part(number, ord(letter) - ord("a") + 1 if letter else 0)


def titled_part(name: str) -> tuple[str, Part] | None:
    """Split `Emma CD1` into its title and its part, or None where a name has no such end."""
    found = _TITLED.match(name)
    if found is None:
        return None
    return found["title"].strip(" -_.,"), Part(int(found["number"]))


def is_extra(name: str) -> bool:
    """Tell whether a folder holds additions to the book beside it, like `Bonus` (A-13, A-21)."""
    heads = _LETTERS.findall(fold(name))
    # "Interview with the Vampire" is a book.
    return 1 <= len(heads) <= 2 and heads[0] in _CLOSING | _OPENING


def is_format(name: str) -> bool:
    """Tell whether a folder is named after a format, so that it says nothing about the book."""
    return fold(name).strip("()[]") in _FORMATS


def place_in_book(name: str) -> int:
    """Return -1 for what opens a book (`Prologue`), 1 for what closes it (`Epilogue`), else 0 (A-44)."""
    heads = _LETTERS.findall(fold(name))
    if any(word in _CLOSING for word in heads[:2]):
        return 1
    return -1 if heads and heads[0] in _OPENING else 0
