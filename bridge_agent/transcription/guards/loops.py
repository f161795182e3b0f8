"""Loops: the same words over and over, which Whisper falls into with high confidence."""

import zlib
from collections.abc import Sequence
from itertools import groupby

from bridge_agent.transcription.model import Segment

MOST_COMPRESSION = 2.4
"""Whisper's own bound: text that packs better repeats itself."""
MOST_EQUAL_CUES = 3
_SHORTEST_TEXT = 120
_WINDOW = 600
_LONGEST_GRAM = 12
_LEAST_WORDS_IN_LOOP = 12
_LEAST_TURNS = 4


def words_of(segments: Sequence[Segment]) -> list[str]:
    """Return the plain words of segments, bare of punctuation; a script without spaces by letters."""
    words: list[str] = []
    for token in " ".join(segment.text for segment in segments).casefold().split():
        plain = "".join(letter for letter in token if letter.isalnum())
        if plain:
            words.extend(plain if _unspaced(plain) else [plain])
    return words


def _unspaced(token: str) -> bool:
    # Thai, Lao, Burmese, Khmer, kana, Han: no spaces between words.
    return any(
        "\u0e00" <= letter <= "\u109f" or "\u1780" <= letter <= "\u17ff" or letter >= "\u3040"
        for letter in token
    )


def compression(text: str) -> float:
    """Return how many times smaller zlib makes a text (Whisper's measure)."""
    raw = text.encode("utf-8")
    return len(raw) / len(zlib.compress(raw)) if raw else 0.0


def _worst_compression(text: str) -> float:
    """Look at the text in windows as long as those of Whisper: a long true text packs well by its length."""
    starts = range(0, max(1, len(text) - _WINDOW // 2), _WINDOW // 2)
    return max(compression(text[start : start + _WINDOW]) for start in starts)


def longest_run(words: Sequence[str]) -> int:
    """Return the most words that one n-gram (of up to twelve words) covers by following itself."""
    most = 0
    for size in range(1, _LONGEST_GRAM + 1):
        run = 0
        for at in range(size, len(words)):
            run = run + 1 if words[at] == words[at - size] else 0
            turns = run // size + 1
            if turns >= _LEAST_TURNS:
                most = max(most, run + size)
    return most


def equal_cues(segments: Sequence[Segment]) -> int:
    """Return how many segments in a row say the same, at most."""
    plain = [" ".join(words_of([segment])) for segment in segments]
    return max((len(list(group)) for text, group in groupby(plain) if text), default=0)


def looping(segments: Sequence[Segment]) -> bool:
    """Tell whether segments loop: an n-gram that follows itself, text that packs too well, equal cues."""
    if equal_cues(segments) > MOST_EQUAL_CUES:
        return True
    if longest_run(words_of(segments)) >= _LEAST_WORDS_IN_LOOP:
        return True
    text = "".join(segment.text for segment in segments).strip()
    return len(text) >= _SHORTEST_TEXT and _worst_compression(text) > MOST_COMPRESSION
