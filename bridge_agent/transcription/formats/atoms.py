"""Atoms: the smallest pieces that a line of subtitles is made of, each with its width and times."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge_agent.transcription.assembly.scripts import CHARACTERS
from bridge_agent.transcription.formats.breaks import joined
from bridge_agent.transcription.formats.tokens import Token, Zones

LINE = 42
"""Columns of a line; a wide character takes two of them."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece that is never broken, without spaces around it; `space` says whether one goes before it."""

    text: str
    space: bool
    width: int
    start: int
    end: int
    zone: int


def atoms(tokens: Sequence[Token], zones: Zones) -> list[Atom]:
    """Return the atoms of a row of tokens: what must not be parted is joined, what is too long is cut."""
    found: list[Atom] = []
    for token in tokens:
        zone = zones.of(token)
        if found and found[-1].zone == zone and joined(found[-1].text, token.text):
            last = found.pop()
            text = last.text + token.text.rstrip()
            found.append(Atom(text, last.space, width(text), last.start, max(last.end, token.end), zone))
        else:
            text = token.text.strip()
            space = token.text[:1].isspace()
            found.append(Atom(text, space, width(text), token.start, token.end, zone))
    return [piece for atom in found for piece in _cut(atom)]


def width(text: str) -> int:
    """Return the columns a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(1 for character in text if unicodedata.east_asian_width(character) in "WF")
    return len(text) + wide


def _cut(atom: Atom) -> Iterator[Atom]:
    """Cut what no line can hold: at inner spaces, at characters without spaces, else where the line ends."""
    if atom.width <= LINE:
        yield atom
        return
    texts = _pieces(atom.text)
    total, passed = sum(len(text) for _, text in texts), 0
    for number, (space, text) in enumerate(texts):
        start = atom.start + (atom.end - atom.start) * passed // total
        passed += len(text)
        end = atom.start + (atom.end - atom.start) * passed // total
        yield Atom(text, atom.space if number == 0 else space, width(text), start, end, atom.zone)


def _pieces(text: str) -> list[tuple[bool, str]]:
    found: list[tuple[bool, str]] = []
    for word in text.split():
        space = True
        for stretch in CHARACTERS.findall(word):
            # 21 wide characters fill a line as well.
            for begin in range(0, len(stretch), LINE // 2):
                found.append((space, stretch[begin : begin + LINE // 2]))
                space = False
    return found
