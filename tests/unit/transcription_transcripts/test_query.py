"""What a person types becomes a query: phrases, beginnings, any script, nothing that FTS5 could trip over."""

import pytest

from bridge_agent.transcription.transcripts.fold import found, words
from bridge_agent.transcription.transcripts.pairs import cover, pairs
from bridge_agent.transcription.transcripts.query import Term, parse


def terms(text: str) -> list[str]:
    return [" ".join(t.words) + ("*" if t.beginning else "") for t in parse(text).terms]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Old Bridge", ["the", "old", "bridge"]),
        ("“old bridge” mill", ["old bridge", "mill"]),
        ('"old bridge', ["old bridge"]),
        ("«vieux pont»", ["vieux pont"]),
        ("brid*", ["brid*"]),
        ('"old brid*"', ["old brid*"]),
        ('"old brid"*', ["old brid*"]),
        ("well-known don’t", ["well known", "don t"]),
        ("a AND NOT b OR NEAR(c)", ["a", "and", "not", "b", "or", "near c"]),
        ("mill mill", ["mill"]),
        ("words : ^x {y} -z", ["words", "x", "y", "z"]),
        ("*", []),
        ('"" "*" ()', []),
        ("", []),
    ],
)
def test_typed_text_is_read_as_terms(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "cafe"),
        ("ÉCOLE", "école"),
        ("Ærø", "aero"),
        ("Straße", "STRASSE"),
        ("Łódź", "lodz"),
        ("ёлка", "елка"),
        ("Σίσυφος", "ΣΙΣΥΦΟΣ"),
        ("ﬁnd", "find"),
        ("מֶלֶךְ", "מלך"),
        ("cafe\u0301", "café"),
        ("ｗｉｄｅ", "wide"),
        ("İstanbul", "istanbul"),
    ],
)
def test_spellings_of_one_word_are_folded_to_one(one, other):
    assert words(one) == words(other) != []


def test_vowels_of_indic_and_thai_words_are_kept():
    assert words("हिन्दी") == ["हिन्दी"]
    assert words("हिन्दी") != words("हन्द")
    assert "".join(words("ภาษาไทย")) == "ภาษาไทย"


def test_scripts_without_spaces_are_words_of_a_character():
    assert words("東京タワーへ行く") == list("東京タワーへ行く")
    assert words("iPhoneは高い") == ["iphone", "は", "高", "い"]
    assert words("が") == ["が"] != words("か")


def test_words_know_where_they_stand():
    text = "Über “Ærø” 東京!"
    assert [(text[f.start : f.end], f.word) for f in found(text)] == [
        ("Über", "uber"),
        ("Ærø", "aero"),
        ("東", "東"),
        ("京", "京"),
    ]


def test_a_query_of_a_whole_page_is_cut_to_what_can_be_asked():
    assert len(parse("word " * 9000).terms) == 1
    assert len(parse(" ".join(f"w{n}" for n in range(100))).terms) == 12


def test_the_last_word_can_be_widened_to_a_beginning_once():
    assert parse("old brid").widened().terms == (Term(("old",)), Term(("brid",), True))
    assert parse("old brid*").widened() is None
    assert parse("").widened() is None
    assert parse('"old brid"').widened() is None


def test_a_phrase_of_short_words_is_looked_for_by_its_pairs():
    assert cover(["to", "be", "or", "not", "to", "be"]) == ["to·be", "be·or", "or·not", "not·to"]
    assert cover(["of", "the", "bridge"]) == ["of·the", "bridge"]
    assert cover(["bridges", "crossing", "rivers"]) == ["bridges", "crossing", "rivers"]
    assert pairs(["東", "京", "bridge"]) == ["東·京"]
