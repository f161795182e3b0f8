"""Trees of files as rules see them, without a disk."""

from bridge_agent.home.library.assembly import Assembled, assemble
from bridge_agent.home.library.facts import File, Mark, Sidecar, Tags
from bridge_agent.home.library.grouping import group
from bridge_agent.home.library.kinds import kind_of

HOUR = 3600.0
Spec = str | File


def file(path: str, size: int = 1000, sidecar: Sidecar | None = None, **tags: object) -> File:
    """Return a file; audio is 60 s long unless said."""
    if kind_of(path.rpartition("/")[2]) != "audio":
        return File(path, size, sidecar=sidecar)
    return File(path, size, tags=Tags(**{"duration": 60.0, "sound": path, **tags}))  # type: ignore[arg-type]


def marks(*titles: str, each: float = 10.0) -> tuple[Mark, ...]:
    """Return chapters of equal length."""
    return tuple(Mark(title, i * each, (i + 1) * each) for i, title in enumerate(titles))


def books(*specs: Spec) -> list[Assembled]:
    """Return the books that these files are."""
    files = [file(spec) if isinstance(spec, str) else spec for spec in specs]
    return [book for found in group(files) if (book := assemble(found)) is not None]


def tree(*specs: Spec) -> dict[str, list[str]]:
    """Return each book's path with its tracks in order, named within the book's folder."""
    return {book.path: [_inside(book.path, track.path) for track in book.tracks] for book in books(*specs)}


def one(*specs: Spec) -> Assembled:
    """Return the only book that these files are."""
    found = books(*specs)
    assert len(found) == 1, [book.path for book in found]
    return found[0]


def order(*names: Spec) -> list[str]:
    """Return the tracks of a book in one folder in order, as their stems."""
    files = [file(f"Au/T/{spec}.mp3") if isinstance(spec, str) else spec for spec in names]
    return [track.path.removeprefix("Au/T/").removesuffix(".mp3") for track in one(*files).tracks]


def _inside(book: str, path: str) -> str:
    return path.removeprefix(book + "/") if path.startswith(book + "/") else path
