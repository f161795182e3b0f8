"""Grouping: which files become one book (A-01…A-32)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bridge_agent.home.library.facts import File
from bridge_agent.home.library.loose import split_books, split_strays
from bridge_agent.home.library.parts import is_extra, is_format, part_of, titled_part
from bridge_agent.home.library.text import fold, nfc


@dataclass(frozen=True)
class Group:
    """The files of one book, in no order yet; `levels` are the names that its metadata is read from."""

    path: str
    levels: tuple[str, ...]
    audio: tuple[File, ...]
    others: tuple[File, ...] = ()


@dataclass
class _Folder:
    """A folder in the tree; folders whose names differ only by Unicode form are one."""

    path: str
    name: str
    audio: list[File] = field(default_factory=list)
    others: list[File] = field(default_factory=list)
    folders: "dict[str, _Folder]" = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    def below(self) -> "Iterator[_Folder]":
        yield self
        for folder in self.folders.values():
            yield from folder.below()

    @property
    def holds_audio(self) -> bool:
        return any(folder.audio for folder in self.below())


def group(files: Iterable[File]) -> list[Group]:
    """Return the books that these files are, sorted by path; pure, whatever order the files come in."""
    root = _tree(files)
    # Each audio file at the root is a book; nothing else there attaches.
    found = [Group(file.path, (file.stem,), (file,)) for file in root.audio]
    for folder in root.folders.values():
        found.extend(_books(folder, ()))
    return sorted(found, key=lambda book: book.path)


def _tree(files: Iterable[File]) -> _Folder:
    root = _Folder("", "")
    for file in sorted(files, key=lambda file: file.path):
        here, path = root, ""
        for name in file.path.split("/")[:-1]:
            path = f"{path}/{name}" if path else name
            key = nfc(name)
            if key not in here.folders:
                here.folders[key] = _Folder(path, name)
            here = here.folders[key]
        if file.kind == "audio":
            # A twin of this very name in the other Unicode form is the same track (one track a real file).
            if nfc(file.name) not in here.keys:
                here.keys.add(nfc(file.name))
                here.audio.append(file)
        elif file.kind is not None:
            here.others.append(file)
    return root


def _books(folder: _Folder, above: tuple[str, ...]) -> list[Group]:
    """Return the books of a folder that is not the root."""
    levels = (*above, folder.name)
    inside = [sub for sub in folder.folders.values() if sub.holds_audio]
    own, shelves = _sorted_out(folder, inside)
    books = _strays(folder, levels) if own is None else _book_folder(folder, own, shelves, levels)
    merged, rest = _titled_discs(shelves, levels)
    for sub in rest:
        books.extend(_books(sub, levels))
    return books + merged


def _sorted_out(folder: _Folder, inside: list[_Folder]) -> tuple[list[_Folder] | None, list[_Folder]]:
    """Tell which subfolders belong to the book that the folder is (None: it is none), and which do not."""
    belonging = _parts(folder, inside)
    if belonging or folder.audio:
        belonging += [sub for sub in inside if sub not in belonging and _joins(folder, sub, belonging)]
    rest = [sub for sub in inside if sub not in belonging]
    is_book = any(not is_extra(sub.name) for sub in belonging) or (bool(folder.audio) and not rest)
    return (belonging, rest) if is_book else (None, inside)


def _parts(folder: _Folder, inside: list[_Folder]) -> list[_Folder]:
    parts = [sub for sub in inside if part_of(sub.name)]
    if parts:
        return parts
    formats = [sub for sub in inside if is_format(sub.name) and sub.audio]
    if formats and len(formats) == len(inside):
        return formats
    titled = [
        sub for sub in inside if (split := titled_part(sub.name)) and fold(split[0]) in fold(folder.name)
    ]
    if len(titled) > 1:
        return titled
    numbered = [sub for sub in inside if sub.name.isdecimal() and len(sub.name) <= 2]
    if len(numbered) > 1 and len(numbered) == len(inside) and _album(numbered):
        return numbered
    return []


def _joins(folder: _Folder, sub: _Folder, parts: list[_Folder]) -> bool:
    """Tell whether a subfolder adds to the book beside it rather than being one (A-11, A-13, A-21)."""
    if is_extra(sub.name) or (is_format(sub.name) and bool(sub.audio)):
        return True
    album = _album([sub])
    return bool(album) and album == _album([_Folder("", "", audio=folder.audio), *parts])


def _album(folders: Sequence[_Folder]) -> str:
    """Return the one album of all files in these folders, folded, or an empty text."""
    albums = {fold(file.said.album) for folder in folders for sub in folder.below() for file in sub.audio}
    return albums.pop() if len(albums) == 1 else ""


def _book_folder(
    folder: _Folder, own: list[_Folder], shelves: list[_Folder], levels: tuple[str, ...]
) -> list[Group]:
    if not own and len(books := split_books(folder.audio)) > 1:
        return _several(folder, books, levels)
    members = [folder] + [
        sub for child in folder.folders.values() if child not in shelves for sub in child.below()
    ]
    return [_group(folder.path, levels, members)]


def _strays(folder: _Folder, levels: tuple[str, ...]) -> list[Group]:
    """Return the loose files of a folder of books as books: one stray file never swallows a shelf."""
    return _several(folder, split_strays(folder.audio), levels) if folder.audio else []


def _several(folder: _Folder, books: list[list[File]], levels: tuple[str, ...]) -> list[Group]:
    found = []
    for files in books:
        stems = {nfc(file.stem) for file in files}
        others = tuple(file for file in folder.others if nfc(file.stem) in stems)
        first = min(files, key=lambda file: file.path)
        if len(stems) == 1:
            found.append(Group(first.path, (*levels, first.stem), tuple(files), others))
        else:
            # Several books can't all have the folder's path: only a single one of several files has.
            path = folder.path if len(books) == 1 else first.path
            names = levels if len(books) == 1 else (*levels, _common(sorted(stems)))
            found.append(Group(path, names, tuple(files), others))
    return found


def _common(stems: list[str]) -> str:
    """Return what several names begin with, as a title."""
    first, last = stems[0], stems[-1]
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    head = first[:length].rstrip("0123456789").rstrip(" -_.,([#")
    for label in ("part", "teil", "cd", "disc", "chapter", "kapitel", "track"):
        if fold(head).endswith(label):
            head = head[: -len(label)].rstrip(" -_.,([#")
    return head or first


def _titled_discs(shelves: list[_Folder], levels: tuple[str, ...]) -> tuple[list[Group], list[_Folder]]:
    """Bring `Emma CD1` and `Emma CD2` on one shelf together as one book, at the first one's path (A-16)."""
    by_title: dict[str, list[_Folder]] = {}
    for sub in shelves:
        if (split := titled_part(sub.name)) and sub.audio:
            by_title.setdefault(fold(split[0]), []).append(sub)
    together = [subs for subs in by_title.values() if len(subs) > 1]
    merged = []
    for subs in together:
        first = min(subs, key=lambda sub: sub.path)
        split = titled_part(first.name)
        title = split[0] if split else first.name
        members = [folder for sub in subs for folder in sub.below()]
        merged.append(_group(first.path, (*levels, title), members))
    taken = {sub.path for subs in together for sub in subs}
    return merged, [sub for sub in shelves if sub.path not in taken]


def _group(path: str, levels: tuple[str, ...], members: Iterable[_Folder]) -> Group:
    members = list(members)
    return Group(
        path,
        levels,
        tuple(file for folder in members for file in folder.audio),
        tuple(file for folder in members for file in folder.others),
    )
