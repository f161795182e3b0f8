"""Pairs of short words that follow each other: what makes a phrase of the commonest words quick to find.

“To be or not to be” is six words that every page has: their lists are long, and going through them takes
seconds in a thousand books. Said together they are rare. Common words are short in every language, so pairs
of short ones are indexed as words of their own; in scripts without spaces these are all pairs of characters.
"""

from collections.abc import Sequence

SHORT = 5
"""Letters of the longest word that is paired."""
JOIN = "·"
"""Stands in no word, and is a letter to the index."""


def pairs(words: Sequence[str]) -> list[str]:
    """Return the pairs of a row of words, each once."""
    return list(dict.fromkeys(pair for pair in map(pair_of, words, words[1:]) if pair))


def pair_of(first: str, second: str) -> str | None:
    """Return two words that follow each other as one, None where they are not paired."""
    return f"{first}{JOIN}{second}" if len(first) <= SHORT and len(second) <= SHORT else None


def cover(words: Sequence[str]) -> list[str]:
    """Return pairs and single words that must all stand where these words follow each other."""
    found, alone = pairs(words), []
    for number, word in enumerate(words):
        before = number > 0 and pair_of(words[number - 1], word)
        after = number + 1 < len(words) and pair_of(word, words[number + 1])
        if not (before or after):
            alone.append(word)
    return found + list(dict.fromkeys(alone))
