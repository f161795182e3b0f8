"""Metadata of a book: from folder names, tags and sidecars, each field from the surest of them (A-60)."""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge_agent.home.library.facts import File, Mark, Sidecar, Tags
from bridge_agent.home.library.names import Names, tidy_sequence
from bridge_agent.home.library.parts import titled_part
from bridge_agent.home.library.people import split_people
from bridge_agent.home.library.sidecars import split_series
from bridge_agent.home.library.text import fold, nfc


@dataclass(frozen=True)
class Metadata:
    """What is known of a book; empty fields are not known. `credit` is the authors' raw text."""

    title: str
    subtitle: str = ""
    authors: tuple[str, ...] = ()
    credit: str = ""
    narrators: tuple[str, ...] = ()
    series: tuple[tuple[str, str], ...] = ()
    year: str = ""
    description: str = ""
    language: str = ""
    asin: str = ""
    isbn: str = ""
    marks: tuple[Mark, ...] = ()


def metadata_of(names: Names, tracks: Sequence[File], others: Sequence[File]) -> Metadata:
    """Put a book's metadata together; `tracks` are in reading order.

    Weakest first: folder names, tags of the first track, desc.txt and reader.txt, OPF, metadata.json. Cue
    sheets only give chapters, where the files have none.
    """
    first = next((file.said for file in tracks if not file.said.broken), Tags())
    found = _of_names(names)
    found = _over(found, _of_tags(first, tracks))
    ranked = sorted((file for file in others if file.sidecar), key=_rank)
    for file in ranked:
        if file.sidecar is not None and (file.extension != ".cue" or not any(t.said.marks for t in tracks)):
            found = _over(found, _of_sidecar(file.sidecar))
    return found


def _rank(file: File) -> tuple[int, int, str]:
    order = {".cue": 0, ".txt": 1, ".opf": 2, ".json": 3}
    # Of several the one nearest to the book's folder is the surest, so it comes last.
    return order.get(file.extension, 0), -file.path.count("/"), file.path


def _of_names(names: Names) -> Metadata:
    return Metadata(
        title=names.title,
        authors=names.authors,
        credit=", ".join(names.authors),
        narrators=names.narrators,
        series=((names.series, names.sequence),) if names.series else (),
        year=names.year,
        asin=names.asin,
    )


def _of_tags(tags: Tags, tracks: Sequence[File]) -> Metadata:
    credit = nfc(tags.artist or tags.album_artist)
    return Metadata(
        title=nfc(_album(tags, tracks)) or _title(tags, tracks),
        subtitle=tags.subtitle,
        authors=tuple(split_people(credit)),
        credit=credit,
        narrators=tuple(split_people(tags.narrator or tags.composer)),
        series=_series(tags),
        year=_year(tags.date),
        description=tags.description,
        language=tags.language,
        asin=tags.asin,
    )


def _album(tags: Tags, tracks: Sequence[File]) -> str:
    """Return the first track's album, without its disc where each disc's album is named so (`Emma CD1`)."""
    split = titled_part(tags.album)
    if split is None or len({fold(file.said.album) for file in tracks}) == 1:
        return tags.album
    parts = [titled_part(file.said.album) for file in tracks]
    shared = {fold(part[0]) if part else "" for part in parts}
    return split[0] if shared == {fold(split[0])} else tags.album


def _title(tags: Tags, tracks: Sequence[File]) -> str:
    """Return the title tag where it is the book's: of a single file, or the same on all (A-60)."""
    titles = {fold(file.said.title) for file in tracks}
    return nfc(tags.title) if len(titles) == 1 else ""


def _series(tags: Tags) -> tuple[tuple[str, str], ...]:
    """Read series tags, else `grouping` as `A #4; B #1a` (A-61); numbers are free text."""
    if tags.series:
        return ((nfc(tags.series), tidy_sequence(tags.series_part)),)
    pieces = [piece.strip() for piece in tags.grouping.split(";") if "#" in piece]
    return tuple((name, tidy_sequence(number)) for name, number in map(split_series, pieces) if number)


def _year(text: str) -> str:
    digits = text[:4]
    return digits if len(digits) == 4 and digits.isascii() and digits.isdigit() else ""


def _of_sidecar(sidecar: Sidecar) -> Metadata:
    return Metadata(
        title=sidecar.title,
        subtitle=sidecar.subtitle,
        authors=sidecar.authors,
        credit=", ".join(sidecar.authors),
        narrators=sidecar.narrators,
        series=sidecar.series,
        year=sidecar.year,
        description=sidecar.description,
        language=sidecar.language,
        asin=sidecar.asin,
        isbn=sidecar.isbn,
        marks=sidecar.marks,
    )


def _over(weaker: Metadata, surer: Metadata) -> Metadata:
    """Return each field from the surer one where that says something."""
    fields = Metadata.__dataclass_fields__
    return Metadata(**{name: getattr(surer, name) or getattr(weaker, name) for name in fields})
