"""Numbers in names: figures, number words and Roman numerals as people count parts and volumes with them."""

import re

_WORDS = {
    word: number
    for number, several in enumerate(
        (
            "zero null", "one eins erste erster erstes first", "two zwei zweite zweiter zweites second",
            "three drei dritte dritter drittes third", "four vier vierte vierter viertes fourth",
            "five fünf funf fuenf fünfte fifth", "six sechs sechste sixth", "seven sieben siebte seventh",
            "eight acht achte eighth", "nine neun neunte ninth", "ten zehn zehnte tenth", "eleven elf",
            "twelve zwölf zwolf zwoelf", "thirteen dreizehn", "fourteen vierzehn",
            "fifteen fünfzehn funfzehn", "sixteen sechzehn", "seventeen siebzehn",
            "eighteen achtzehn", "nineteen neunzehn", "twenty zwanzig",
        )
    )
    for word in several.split()
}  # fmt: skip
_ROMAN = re.compile(r"(x{0,3})(ix|iv|v?i{0,3})\Z")
_ROMAN_VALUE = {"i": 1, "v": 5, "x": 10}

WORD_PATTERN = "|".join(sorted(_WORDS, key=len, reverse=True))
ROMAN_PATTERN = r"(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})"


def value_of(text: str) -> int | None:
    """Return the number that a text stands for, or None: `12`, `two`, `zwei`, `IV`."""
    text = text.lower()
    if text.isascii() and text.isdigit():
        return int(text)
    if text in _WORDS:
        return _WORDS[text]
    if text and _ROMAN.match(text):
        return _roman(text)
    return None


def _roman(text: str) -> int:
    total = 0
    for here, following in zip(text, [*text[1:], ""], strict=True):
        value = _ROMAN_VALUE[here]
        total += -value if following and _ROMAN_VALUE[following] > value else value
    return total
