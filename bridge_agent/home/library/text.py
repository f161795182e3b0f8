"""Names as they are compared, sorted and searched; what is shown and opened stays as it was written."""

import re
import unicodedata

# Letters that Unicode does not take apart into a plain letter and a mark.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "’": "'"}
)
_NUMBER = re.compile(r"\d+")
_CJK = re.compile("([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff])")
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 12


def nfc(text: str) -> str:
    """Return a name in its composed form, in which NFC and NFD spellings are equal."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Return a text without case, accents and doubled spaces: two spellings of one name are equal then."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text.casefold())
        text = "".join(c for c in apart if not unicodedata.combining(c)).translate(_PLAIN)
    return " ".join(text.lower().split())


def natural(text: str) -> str:
    """Return a text whose plain order is the natural one: `2` before `10`, `007` beside `7`."""
    return _NUMBER.sub(_counted, fold(text))


def sort_key(title: str) -> str:
    """Return what a list of titles is sorted by: folded, natural, opening quotes and brackets dropped."""
    key = natural(title)
    return key.lstrip(" \"'“”„‘«»([{¡¿.…-–—") or key


def word_set(text: str) -> frozenset[str]:
    """Return the words of a table that is written as one text."""
    return frozenset(text.split())


def words(text: str) -> list[str]:
    """Return the folded words of a text, each CJK character a word of its own."""
    return _WORD.findall(_CJK.sub(r" \1 ", fold(text)))


def query_words(query: str) -> list[str]:
    """Return the words of a search, each once, the longest twelve at most."""
    found = dict.fromkeys(words(query))
    return sorted(found, key=len, reverse=True)[:_MOST_WORDS]


def _counted(match: re.Match[str]) -> str:
    digits = match[0].lstrip("0") or "0"
    return f"{len(digits):03d}{digits}"
