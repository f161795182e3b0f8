"""Words as they are searched: without case and accents, a character each in scripts without spaces."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from bridge_agent.transcription.assembly.scripts import CHARACTERS, UNSPACED

# Letters that Unicode does not take apart into a plain letter and a mark.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ŋ": "n"}
)
# Marks that a word may be written without: accents, vowel points, variants; no vowels of Indic scripts.
_LOOSE = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]"
)
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_MARK_BLOCKS = ((0x0300, 0x1E00), (0x200C, 0x200E), (0x20D0, 0x2100), (0x302A, 0x309B), (0xA66F, 0xAC00))
_MORE_MARKS = "\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f"
_LONGEST = 64


class Found(NamedTuple):
    """A folded word and where it stands in the text it was found in."""

    word: str
    start: int
    end: int


def found(text: str) -> Iterator[Found]:
    """Return the words of a text with their places, in order."""
    if text.isascii():
        for match in _ASCII_WORD.finditer(text):
            yield Found(match[0].lower()[:_LONGEST], match.start(), match.end())
        return
    for match in _word().finditer(text):
        piece = match[0]
        if UNSPACED.search(piece):
            for character in CHARACTERS.finditer(piece):
                if word := folded(character[0]):
                    yield Found(word, match.start() + character.start(), match.start() + character.end())
        elif word := folded(piece):
            yield Found(word, match.start(), match.end())


def words(text: str) -> list[str]:
    """Return the folded words of a text, in order."""
    if text.isascii():
        return [word.lower()[:_LONGEST] for word in _ASCII_WORD.findall(text)]
    return [each.word for each in found(text)]


@lru_cache(maxsize=1 << 15)
def folded(piece: str) -> str:
    """Return one word folded: letters, digits and the marks that make another word of it; no spaces."""
    if piece.isascii():
        return piece.lower()[:_LONGEST]
    apart = unicodedata.normalize("NFKD", piece.casefold())
    plain = unicodedata.normalize("NFC", _LOOSE.sub("", apart).translate(_PLAIN))
    kept = "".join(c for c in plain if c.isalnum() or unicodedata.category(c).startswith("M"))
    return kept[:_LONGEST]


@cache
def _word() -> re.Pattern[str]:
    # Python's \w has no marks, without which words of many scripts would fall apart.
    marks = "".join(
        chr(code)
        for first, after in _MARK_BLOCKS
        for code in range(first, after)
        if unicodedata.category(chr(code)).startswith("M")
    )
    return re.compile(rf"[^\W_](?:[^\W_]|[\u200c\u200d{_MORE_MARKS}{marks}])*")
