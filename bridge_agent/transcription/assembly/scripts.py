"""Scripts written without spaces, in which a character or two is what a word is elsewhere."""

import re
import unicodedata

_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3031-\u3035\u303b\u3041-\u3096\u309d-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
    "\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2-\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    "\u0f00\u0f40-\u0f6c\u0f88-\u0f8c\u1000-\u102a\u103f\u1050-\u1055\u1780-\u17b3\u17d7\u17dc"
)
_MARK_BLOCKS = (
    (0x0300, 0x0370),
    (0x0E31, 0x0E4F),
    (0x0EB1, 0x0ECF),
    (0x0F18, 0x0FBD),
    (0x102B, 0x109E),
    (0x17B4, 0x17DE),
    (0x3099, 0x309B),
    (0xFE00, 0xFE10),
)
_MARKS = "\u200d" + "".join(
    chr(code)
    for first, after in _MARK_BLOCKS
    for code in range(first, after)
    if unicodedata.category(chr(code)).startswith("M")
)

UNSPACED = re.compile(f"[{_UNSPACED}]")
"""A character of a script without spaces."""
CHARACTERS = re.compile(f"[{_UNSPACED}][{_MARKS}]*|[^{_UNSPACED}]+")
"""Cuts a text into such characters, each with its marks, and the stretches between them."""
_PIECES = re.compile(rf"\s*(?:[{_UNSPACED}][{_MARKS}]*|[^\s{_UNSPACED}]+)")
_OPENING = frozenset("([{«‹“‘„‚「『（【《〈〔［｛¿¡")


def unspaced(character: str) -> bool:
    """Tell whether a character belongs to a script written without spaces."""
    return character > "\u0dff" and UNSPACED.match(character) is not None


def pieces(text: str) -> list[str]:
    """Cut a text into words, each with its leading space, and into characters where there are no spaces.

    Marks and closing punctuation stay with what they follow, opening ones with what follows them.
    """
    found: list[str] = []
    for piece in _PIECES.findall(text):
        glued = found and not piece[0].isspace() and not (unspaced(piece[0]) and not _opens(found[-1]))
        if glued:
            found[-1] += piece
        else:
            found.append(piece)
    return found


def _opens(piece: str) -> bool:
    return piece[-1] in _OPENING
