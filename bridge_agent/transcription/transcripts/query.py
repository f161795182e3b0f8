"""What a person types, as a query: words, “phrases in quotes”, beginnings*; any text is a valid one."""

import re
from dataclasses import dataclass, replace

from bridge_agent.transcription.transcripts.fold import words

_QUOTES = re.compile('["“”„‟«»＂「」『』〝〞]')
_MOST_CHARACTERS, _MOST_TERMS, _MOST_WORDS = 400, 12, 40


@dataclass(frozen=True)
class Term:
    """Words that follow each other; with `beginning`, the last one only begins so."""

    words: tuple[str, ...]
    beginning: bool = False


@dataclass(frozen=True)
class Query:
    """Terms that must all be said in one place; none finds nothing."""

    terms: tuple[Term, ...]

    def widened(self) -> "Query | None":
        """Return the query with its last word taken as a beginning; None for a phrase, or where it is one."""
        if not self.terms or self.terms[-1].beginning or len(self.terms[-1].words) > 1:
            return None
        return Query((*self.terms[:-1], replace(self.terms[-1], beginning=True)))


def parse(text: str) -> Query:
    """Read what was typed. A quote that is not closed yet holds up to the end."""
    terms: list[Term] = []
    for number, stretch in enumerate(_QUOTES.split(text[:_MOST_CHARACTERS])):
        quoted = number % 2 == 1
        for piece in [stretch] if quoted else stretch.split():
            if found := tuple(words(piece)[:_MOST_WORDS]):
                terms.append(Term(found, piece.rstrip().endswith("*")))
            elif piece == "*" and terms and stretch.startswith("*"):
                # `"old bri"*`: the star belongs to the phrase before it.
                terms[-1] = replace(terms[-1], beginning=True)
    return Query(tuple(dict.fromkeys(terms))[:_MOST_TERMS])
