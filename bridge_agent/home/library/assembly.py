"""Assembly: a group of files becomes a book as the index stores it."""

import hashlib
from dataclasses import dataclass

import msgspec

from bridge_agent.home.library.catalog import StoredDetails
from bridge_agent.home.library.chapters import chapters_of
from bridge_agent.home.library.covers import cover_of
from bridge_agent.home.library.facts import File
from bridge_agent.home.library.grouping import Group
from bridge_agent.home.library.metadata import Metadata, metadata_of
from bridge_agent.home.library.names import read_names
from bridge_agent.home.library.order import in_order
from bridge_agent.home.library.tags import EMPTY, UNREADABLE
from bridge_agent.home.library.text import nfc, sort_key, words
from bridge_agent.home.library.versions import tell_versions
from bridge_agent.home.library.wholeness import lacking


@dataclass(frozen=True)
class Assembled:
    """A book ready to be stored; `roles` are (file, role, position) of all its files."""

    path: str
    title: str
    author: str
    series: str
    sequence: str
    narrator: str
    words: str
    duration: float | None
    size: int
    tracks: tuple[File, ...]
    roles: tuple[tuple[File, str, int], ...]
    whole: bool
    evidence: str
    details: StoredDetails

    @property
    def path_key(self) -> str:
        """Its path as it is compared."""
        return nfc(self.path)

    @property
    def sort_key(self) -> str:
        """What lists are sorted by."""
        return sort_key(self.title)

    def digest(self, state: str) -> str:
        """Return a hash over all that would be stored."""
        stored = [
            self.path, self.title, self.author, self.series, self.sequence, self.narrator, self.words,
            self.duration, self.size, state, self.evidence, self.details,
            [(file.path, role, position, file.size, file.duration) for file, role, position in self.roles],
        ]  # fmt: skip
        return hashlib.blake2b(msgspec.json.encode(stored), digest_size=16).hexdigest()


_NOT_THERE = frozenset({EMPTY, UNREADABLE})
"""What a file may say that makes its book incomplete; one with an odd header is there all the same."""


def assemble(group: Group) -> Assembled | None:
    """Make a book of a group of files, or None where none of its audio has a single byte (A-29, A-30)."""
    sound = [file for file in group.audio if file.said.broken != EMPTY and file.size]
    if not sound:
        return None
    in_folder = group.path not in {file.path for file in group.audio}
    folder = _folder(group)
    versions = tell_versions(sound, folder)
    counted = in_order(versions.tracks, folder)
    tracks = counted.files
    names = read_names(group.levels, root_file=len(group.levels) == 1 and not in_folder)
    known = metadata_of(names, tracks, group.others)
    gap = lacking(counted)
    notes = _notes(group, tracks, gap)
    cover = cover_of(group.others, tracks)
    return Assembled(
        path=group.path,
        title=known.title,
        author=", ".join(known.authors),
        series=known.series[0][0] if known.series else "",
        sequence=known.series[0][1] if known.series else "",
        narrator=", ".join(known.narrators),
        words=_words(known),
        duration=_duration(tracks),
        size=sum(file.size for file in tracks),
        tracks=tracks,
        roles=_roles(tracks, versions.others, group.others, cover),
        whole=not gap and not any(file.said.broken in _NOT_THERE for file in group.audio),
        evidence=evidence_of(tracks),
        details=_details(known, tracks, versions.others, cover, notes),
    )


def _folder(group: Group) -> str:
    """Return the folder that all of a book's audio lies below: its own, or the shelf's."""
    below = all(file.folder == group.path or file.path.startswith(group.path + "/") for file in group.audio)
    return group.path if below else group.path.rpartition("/")[0]


def evidence_of(tracks: tuple[File, ...]) -> str:
    """Return a hash over sizes, lengths and sound of a book's tracks, in no order and with no name in it."""
    facts = sorted((file.size, file.duration or 0.0, file.said.sound) for file in tracks)
    return hashlib.blake2b(msgspec.json.encode(facts), digest_size=16).hexdigest()


def _notes(group: Group, tracks: tuple[File, ...], gap: str) -> list[str]:
    """Return a sentence for each thing that a person should know of a book's files."""
    notes = [gap] if gap else []
    for file in group.audio:
        if file.said.broken:
            notes.append(f"“{file.name}”: {file.said.broken}")
    return notes[:20]


def _duration(tracks: tuple[File, ...]) -> float | None:
    known = [file.duration for file in tracks if file.duration is not None]
    return round(sum(known), 3) if known else None


def _roles(
    tracks: tuple[File, ...], versions: tuple[File, ...], others: tuple[File, ...], cover: str | None
) -> tuple[tuple[File, str, int], ...]:
    rest = sorted(others, key=lambda file: file.path)
    roles = [(file, "track", i) for i, file in enumerate(tracks)]
    roles += [(file, "version", i) for i, file in enumerate(sorted(versions, key=lambda file: file.path))]
    roles += [(file, "cover" if file.path == cover else "sidecar", i) for i, file in enumerate(rest)]
    return tuple(roles)


def _words(known: Metadata) -> str:
    series = [name for name, _ in known.series]
    texts = [known.title, known.subtitle, known.credit, *known.authors, *series, *known.narrators]
    found = dict.fromkeys(word for text in texts for word in words(text))
    return " " + " ".join(found) + " "


def _details(
    known: Metadata, tracks: tuple[File, ...], versions: tuple[File, ...], cover: str | None, notes: list[str]
) -> StoredDetails:
    return StoredDetails(
        subtitle=known.subtitle,
        authors=list(known.authors),
        credit=known.credit,
        narrators=list(known.narrators),
        series=[list(pair) for pair in known.series],
        year=known.year,
        description=known.description,
        language=known.language,
        asin=known.asin,
        isbn=known.isbn,
        cover=cover,
        chapters=chapters_of(tracks, known.title, known.marks),
        versions=[file.path for file in versions],
        notes=notes,
    )
