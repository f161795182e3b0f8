"""What is known of one file: its place, its size, and what was read out of it."""

from dataclasses import dataclass

import msgspec

from bridge_agent.home.library.kinds import FileKind, extension_of, kind_of, stem_of


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """A chapter within one file, in seconds of that file."""

    title: str
    start: float
    end: float


class Tags(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What an audio file says of itself; `duration` in seconds, None where its header can't be read."""

    duration: float | None = None
    title: str = ""
    album: str = ""
    artist: str = ""
    album_artist: str = ""
    composer: str = ""
    narrator: str = ""
    date: str = ""
    genre: str = ""
    description: str = ""
    language: str = ""
    series: str = ""
    series_part: str = ""
    grouping: str = ""
    asin: str = ""
    subtitle: str = ""
    track: int | None = None
    tracks: int | None = None
    disc: int | None = None
    marks: tuple[Mark, ...] = ()
    art: bool = False
    # Of the sound in the middle of the file: tells recordings of one size and length apart.
    sound: str = ""
    # One plain sentence, where the file or its header can't be read.
    broken: str = ""


class Sidecar(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What a file beside the audio says of the book; empty fields say nothing."""

    title: str = ""
    subtitle: str = ""
    authors: tuple[str, ...] = ()
    narrators: tuple[str, ...] = ()
    series: tuple[tuple[str, str], ...] = ()
    year: str = ""
    description: str = ""
    language: str = ""
    asin: str = ""
    isbn: str = ""
    marks: tuple[Mark, ...] = ()


NO_TAGS = Tags()


@dataclass(frozen=True, slots=True)
class File:
    """A file below a library's root; `path` is relative, with `/`, byte-exact as on disk."""

    path: str
    size: int
    mtime_ns: int = 0
    tags: Tags | None = None
    sidecar: Sidecar | None = None

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The path of the folder it lies in; empty at the root."""
        return self.path.rpartition("/")[0]

    @property
    def stem(self) -> str:
        """Its name without the extension."""
        return stem_of(self.name)

    @property
    def extension(self) -> str:
        """Its extension in lower case, with the dot."""
        return extension_of(self.name)

    @property
    def kind(self) -> FileKind | None:
        """What it is by its name."""
        return kind_of(self.name)

    @property
    def said(self) -> Tags:
        """Its tags, or empty ones."""
        return self.tags or NO_TAGS

    @property
    def duration(self) -> float | None:
        """Its length in seconds where that could be read."""
        return self.tags.duration if self.tags else None


def inside(folder: str, path: str) -> str:
    """Return a folder's path within another one, empty where it is that one; one elsewhere stays whole."""
    if path == folder:
        return ""
    return path[len(folder) + 1 :] if folder and path.startswith(folder + "/") else path
