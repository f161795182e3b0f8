"""A book that somebody names by its file or folder: its audio files in order, its title and author."""

from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.errors import BridgeError
from bridge_agent.home.library.kinds import AUDIO
from bridge_agent.home.library.tags import read_tags
from bridge_agent.home.library.text import natural
from bridge_agent.transcription.pipeline.order import SourceFile

_MOST_FILES = 10_000


class NoBook(BridgeError):
    """There is no audio at this path; name an audio file, or a folder with one book in it."""

    code = "no_book"


@dataclass(frozen=True)
class LocalBook:
    """A book on this machine, outside of any library."""

    path: Path
    title: str
    author: str
    files: tuple[SourceFile, ...]


def find(path: Path) -> LocalBook:
    """Return the book at a path; a folder is one book, its files in natural order. Blocks; raises NoBook."""
    path = path.expanduser().absolute()
    try:
        if path.is_dir():
            found, root = _audio_below(path), path
        elif path.is_file():
            found, root = [path], path.parent
        else:
            raise NoBook(f"There is nothing at {path}; name an audio file, or a folder with one book in it.")
    except OSError as error:
        raise NoBook(
            f"{path} can’t be read ({error.strerror}); mend its permissions, then try again."
        ) from error
    if not found:
        raise NoBook(f"There are no audio files below {path}; name an audio file, or a folder with one book.")
    tags = read_tags(str(found[0]))
    title = tags.album or (tags.title if len(found) == 1 else "")
    files = tuple(SourceFile(path=each, relative=each.relative_to(root).as_posix()) for each in found)
    return LocalBook(
        path=path,
        title=title or (path.name if path.is_dir() else path.stem),
        author=tags.album_artist or tags.artist,
        files=files,
    )


def _audio_below(folder: Path) -> list[Path]:
    found = [
        each
        for each in folder.rglob("*")
        if each.suffix.lower() in AUDIO and not each.name.startswith(".") and each.is_file()
    ]
    if len(found) > _MOST_FILES:
        raise NoBook(
            f"{folder} holds {len(found):,} audio files, which is no one book; name a folder with one."
        )
    return sorted(found, key=lambda each: (natural(each.relative_to(folder).as_posix()), str(each)))
