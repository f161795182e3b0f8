"""What holds for the rules whatever the names are."""

from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.home.library.grouping import group
from bridge_agent.home.library.loose import residue
from bridge_agent.home.library.matching import Known, Pool, Track
from bridge_agent.home.library.names import read_names
from bridge_agent.home.library.parts import part_of, titled_part
from bridge_agent.home.library.people import split_people
from bridge_agent.home.library.plan import in_order_of_jobs
from bridge_agent.home.library.text import fold, nfc, query_words, sort_key, words
from tests.unit.home_library.rules import books, file

part = st.one_of(
    st.sampled_from(
        [
            "Au",
            "T",
            "CD1",
            "CD2",
            "Part 1",
            "Bonus",
            "Emma CD1",
            "Emma CD2",
            "mp3",
            "1",
            "2",
            "Book 2 - X",
            "ä",
            "a\u0308",
        ]
    ),
    st.text(min_size=1, max_size=6).filter(lambda name: "/" not in name and name not in (".", "..")),
)
paths = st.lists(part, min_size=0, max_size=4).map("/".join)
trees = st.lists(
    st.builds(
        lambda folder, stem, extension: f"{folder}/{stem}{extension}".lstrip("/"),
        paths,
        st.text(min_size=1, max_size=6).filter(lambda name: "/" not in name),
        st.sampled_from([".mp3", ".m4b", ".jpg", ".opf"]),
    ),
    max_size=12,
    unique_by=nfc,
)


@given(trees)
def test_every_audio_file_is_in_exactly_one_book(tree: list[str]) -> None:
    files = [file(path) for path in tree]
    grouped = [track.path for found in group(files) for track in found.audio]
    assert sorted(grouped) == sorted(one.path for one in files if one.kind == "audio")


@given(trees)
def test_no_two_books_have_one_path_and_each_has_a_title(tree: list[str]) -> None:
    found = books(*tree)
    assert len({book.path for book in found}) == len(found)
    assert all(book.title for book in found)
    assert all(
        file.kind != "audio" or role in ("track", "version") for book in found for file, role, _ in book.roles
    )


@given(st.text(max_size=40))
def test_rules_of_names_take_any_text(text: str) -> None:
    assert read_names(["Au", "S", text or "x"]).title
    assert fold(fold(text)) == fold(text)
    assert all(word == fold(word) or not word.isascii() for word in words(text))
    assert len(query_words(text)) <= 12
    assert isinstance(sort_key(text), str)
    assert isinstance(residue(text), str)
    assert part_of(text) is None or part_of(text).number >= 0
    assert titled_part(text) is None or titled_part(text)[0] in text


@given(st.text(alphabet="ab ,;&JrSr.and", max_size=40))
def test_of_peoples_names_nothing_is_lost(text: str) -> None:
    letters = sorted({c for c in "".join(split_people(text)) if c.isalpha()} - set("nd"))
    assert letters == sorted({c for c in text if c.isalpha()} - set("nd")) or " and " in f" {text} ".lower()


@given(st.permutations(range(5)), st.integers(0, 5))
def test_moves_told_one_by_one_do_what_all_at_once_would(order: list[int], kept: int) -> None:
    moves = [(str(i), str(to)) for i, to in enumerate(order) if i != to][: max(kept, 0) or None]
    at = {str(i): str(i) for i in range(5)}
    for old, new in in_order_of_jobs(moves):
        at = {job: new if place == old else place for job, place in at.items()}
    wanted = dict(moves)
    assert at == {job: wanted.get(job, job) for job in at}


def test_a_pool_gives_each_book_once_and_prefers_the_same_name() -> None:
    track = Track("x", 1000, 60.0, True, "sound")
    known = [
        Known(i, path, path, path, "whole", "same", "", 60.0, 1000, (track,))
        for i, path in enumerate(("a/T", "b/U"))
    ]
    pool = Pool(known)
    [found] = books(file("c/U/a.mp3"))
    moved = type(found)(**{**found.__dict__, "evidence": "same"})
    first, second, third = pool.same(moved), pool.same(moved), pool.same(moved)
    assert (first, second, third) == (known[1], known[0], None)
    assert pool.left() == []
