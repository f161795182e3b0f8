"""Pace: nobody reads faster than six words a second, and speech has at least one word in three seconds."""

from collections.abc import Sequence

from bridge_agent.transcription.guards.loops import words_of
from bridge_agent.transcription.model import RATE, Segment

FEWEST_WORDS_A_SECOND = 0.3
MOST_WORDS_A_SECOND = 6.0
MOST_LETTERS_A_SECOND = 14.0
"""Where a script has no spaces, each letter counts as a word."""
_SHORTEST = 5 * RATE


def too_fast(segments: Sequence[Segment], speech_samples: int, *, spaced: bool = True) -> bool:
    """Tell whether there is more text than anybody can say in the speech there is."""
    if speech_samples < _SHORTEST:
        return False
    most = MOST_WORDS_A_SECOND if spaced else MOST_LETTERS_A_SECOND
    return len(words_of(segments)) > most * speech_samples / RATE


def too_slow(segments: Sequence[Segment], speech_samples: int) -> bool:
    """Tell whether there is less text than any reader says."""
    if speech_samples < _SHORTEST:
        return False
    return len(words_of(segments)) < FEWEST_WORDS_A_SECOND * speech_samples / RATE
