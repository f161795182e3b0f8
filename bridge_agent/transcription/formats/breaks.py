"""Where a text may be broken, and how well: after a phrase, after a clause, between words."""

from bridge_agent.transcription.assembly.scripts import unspaced

PHRASE, CLAUSE, BETWEEN = 0, 1, 2
"""How good a break is, the best first."""

_PHRASE_ENDS = frozenset(".?!…。！？｡؟۔।॥")
_CLAUSE_ENDS = frozenset(",;:—–、，；：،؛")
_CLOSING = frozenset("\"'”’»›)]}」』）】》〉〕］｝\u201f")
_OPENING = frozenset("([{«‹“‘„‚「『（【《〈〔［｛¿¡")
# Full stops that end no sentence; a wrong guess costs a cue its best break, no more.
_SHORT = frozenset({"mr.", "mrs.", "ms.", "dr.", "st.", "prof.", "sr.", "jr.", "vs.", "e.g.", "i.e.", "z.b."})


def rank(text: str) -> int:
    """Say how good a break after this text is."""
    bare = text.rstrip()
    while bare and bare[-1] in _CLOSING:
        bare = bare[:-1]
    if not bare:
        return BETWEEN
    if bare[-1] in _PHRASE_ENDS:
        return BETWEEN if bare[-1] == "." and _is_short(bare) else PHRASE
    return CLAUSE if bare[-1] in _CLAUSE_ENDS else BETWEEN


def joined(before: str, after: str) -> bool:
    """Tell whether two texts must stay on one line: no space and no script without spaces between them."""
    if not before or after[:1].isspace() or before[-1].isspace():
        return False
    first, last = after[0], before[-1]
    if last in _OPENING:
        return True
    return not (unspaced(first) or (unspaced_end(before) and first.isalnum()) or first in _OPENING)


def unspaced_end(text: str) -> bool:
    """Tell whether a text ends in a script without spaces, its marks and punctuation aside."""
    return any(unspaced(character) for character in text[-3:])


def _is_short(bare: str) -> bool:
    word = bare.split()[-1].lstrip("".join(_OPENING) + "\"'").lower()
    # A single letter before the stop is an initial.
    return word in _SHORT or (len(word) == 2 and word[0].isalpha() and word[0].isascii())
