"""Audio files lying side by side in one folder: one book in several files, or several books (A-10, A-26)."""

import re
from collections.abc import Callable, Sequence

from bridge_agent.home.library.facts import File
from bridge_agent.home.library.kinds import BOOK_CONTAINERS
from bridge_agent.home.library.parts import place_in_book
from bridge_agent.home.library.text import fold, nfc, word_set

# A file this long can be a whole book; one whose name begins with a number is a long chapter up to two hours.
LONG_S = 30 * 60.0
_LONG_NUMBERED_S = 120 * 60.0
_LONG_CHAPTER_S = 60 * 60.0
_LABELLED = re.compile(r"(?:b|bk|book|buch|band|bd|vol|volume)[\s._#-]*\d+\Z")
_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]|\{[^}]*\}")
_LETTERS = re.compile(r"[^\W\d_]+")
_COUNTING = word_set(
    "part parts teil pt cd disc disk dvd track chapter chapters kapitel ch kap of von side seite section "
    "file datei folge episode ep no nr abschnitt tape kassette"
)


def residue(text: str) -> str:
    """Return a name without numbers, brackets and counting words: equal for the parts of one book."""
    bare = _BRACKETS.sub(" ", fold(text))
    return " ".join(word for word in _LETTERS.findall(bare) if word not in _COUNTING)


def split_books(files: Sequence[File]) -> list[list[File]]:
    """Split the files of a folder into the books they are; one list where they are one book.

    Files of one stem are versions of each other and stay together. Only distinct albums, or distinct names of
    long files in book containers, part files: whatever is in doubt stays together as in A-10.
    """
    stems = _by(files, lambda file: nfc(file.stem))
    if len(stems) < 2:
        return [list(files)]
    return _by_album(files) or _by_name(list(stems.values())) or [list(files)]


def split_strays(files: Sequence[File]) -> list[list[File]]:
    """Split the files that lie loose in a folder of books: those in no visible tie are books of their own."""
    books = split_books(files)
    if len(books) > 1:
        return books
    stems = list(_by(files, lambda file: nfc(file.stem)).values())
    if len(stems) < 2 or _one_set(files):
        return [list(files)]
    all_long = all(_longest(stem) >= LONG_S for stem in stems)
    return stems if len(stems) == 2 or all_long else [list(files)]


def _one_set(files: Sequence[File]) -> bool:
    albums = {fold(file.said.album) for file in files}
    if len(albums) == 1 and "" not in albums:
        return True
    return len({residue(file.stem) for file in files}) == 1


def _by_album(files: Sequence[File]) -> list[list[File]]:
    """Part files by album where every file names one and what each album holds can be a book."""
    albums = _by(files, lambda file: residue(file.said.album))
    if len(albums) < 2 or "" in albums:
        return []
    for several in albums.values():
        container = all(file.extension in BOOK_CONTAINERS for file in several)
        if not container and sum(file.duration or 0.0 for file in several) < LONG_S:
            return []
    return list(albums.values())


def _by_name(stems: list[list[File]]) -> list[list[File]]:
    """Part long book containers by what their names say, the rest of the folder among itself."""
    books = [stem for stem in stems if _can_be_a_book(stem)]
    if len(books) < 2 or _one_album([file for stem in books for file in stem]):
        return []
    parted = _by_label(books) or _by_residue(books)
    if not parted:
        return []
    rest = [file for stem in stems if stem not in books for file in stem]
    return parted + (split_strays(rest) if rest else [])


def _by_label(books: list[list[File]]) -> list[list[File]]:
    return books if all(_LABELLED.match(fold(stem[0].stem)) for stem in books) else []


def _by_residue(books: list[list[File]]) -> list[list[File]]:
    named = _by([file for stem in books for file in stem], lambda file: residue(file.stem))
    if len(named) < 2:
        return []
    for words, several in named.items():
        numbered = several[0].stem[:1].isdigit()
        if len(words) < 3 or place_in_book(several[0].stem):
            return []
        if numbered and _longest(several) < _LONG_NUMBERED_S:
            return []
    return list(named.values())


def _one_album(files: Sequence[File]) -> bool:
    albums = {fold(file.said.album) for file in files}
    return len(albums) == 1 and "" not in albums


def _can_be_a_book(stem: Sequence[File]) -> bool:
    """Tell whether a file is long enough for a book; a number makes it a chapter outside of containers."""
    if _container(stem):
        return _longest(stem) >= LONG_S
    return _longest(stem) >= _LONG_CHAPTER_S and not any(c.isdigit() for c in stem[0].stem)


def _container(stem: Sequence[File]) -> bool:
    return any(file.extension in BOOK_CONTAINERS for file in stem)


def _longest(files: Sequence[File]) -> float:
    return max((file.duration or 0.0 for file in files), default=0.0)


def _by(files: Sequence[File], key: Callable[[File], str]) -> dict[str, list[File]]:
    found: dict[str, list[File]] = {}
    for file in files:
        found.setdefault(key(file), []).append(file)
    return found
