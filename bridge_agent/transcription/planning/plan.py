"""A book's plan out of the survey of its files: pure, so that every machine plans the same."""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import msgspec

from bridge_agent.transcription.model import (
    Chapter,
    Damage,
    FileChapter,
    FileSurvey,
    Part,
    Plan,
    PlannedFile,
    Settings,
    Span,
    Survey,
)
from bridge_agent.transcription.planning.cuts import OVERLAP, Cut, cuts
from bridge_agent.transcription.planning.pauses import Pauses

RULES = "1"
"""Counted up when the same survey is planned differently: old plans are then not mistaken for new ones."""

_GAP_PROBLEMS = frozenset({"drm", "truncated", "unreadable"})
_PLACES = (0.05, 0.25, 0.5, 0.75, 0.95)


def make(survey: Survey, settings: Settings) -> Plan:
    """Plan a book. Files stay in the order given; those without audio take no room on the time line."""
    files = _planned_files(survey.files)
    return Plan(
        hash=_hash(survey, settings),
        files=files,
        chapters=tuple(_chapters(survey.files, files)),
        gaps=tuple(_gaps(survey.files, files)),
        parts=tuple(_parts(survey.files)),
        settings=settings,
    )


def part_key(plan: Plan, part: Part) -> str:
    """Return what a part's words follow from: its file's sound, its stretch, and the settings.

    Equal keys, equal words, whatever the file's name, its tags, its place in the book or the other files
    (the engine's own name and model's content are the caller's to add).
    """
    settings = msgspec.json.encode(plan.settings, order="sorted").decode()
    return _digest([RULES, plan.files[part.file].content, part.start, part.end, settings])


def language_places(survey: Survey) -> list[tuple[int, Span]]:
    """Return where to listen for the book's language: (file, span) near 5, 25, 50, 75, 95 % of it."""
    total = sum(file.samples for file in survey.files)
    found: list[tuple[int, Span]] = []
    for share in _PLACES:
        wanted = int(total * share)
        place = min(_loud(survey.files), key=lambda p: (abs(p[0] - wanted), p[0]), default=None)
        if place is not None and place[1:] not in found:
            found.append(place[1:])
    return found


def warnings(survey: Survey) -> list[str]:
    """Return the sentences about files that could not be used whole, in the order of the files."""
    said = [file.sentence for file in survey.files if file.sentence is not None]
    lost = sum(1 for file in survey.files if not file.samples)
    if not lost or len(survey.files) == 1:
        return said
    rest = "there is nothing to transcribe" if lost == len(survey.files) else "the rest is transcribed"
    return [f"{lost} of {len(survey.files)} files could not be read; {rest}.", *said]


def _loud(files: Sequence[FileSurvey]) -> Iterator[tuple[int, int, Span]]:
    offset = 0
    for number, file in enumerate(files):
        for span in file.loud:
            yield offset + (span.start + span.end) // 2, number, span
        offset += file.samples


def _planned_files(files: Sequence[FileSurvey]) -> tuple[PlannedFile, ...]:
    planned, offset = [], 0
    for file in files:
        planned.append(PlannedFile(path=file.path, samples=file.samples, offset=offset, content=file.content))
        offset += file.samples
    return tuple(planned)


def _parts(files: Sequence[FileSurvey]) -> Iterator[Part]:
    number = 0
    for index, file in enumerate(files):
        if not file.samples:
            continue
        starts = [chapter.start for chapter in file.chapters]
        borders = [Cut(0), *cuts(file.samples, Pauses(file.pauses), starts), Cut(file.samples)]
        for first, last in itertools.pairwise(borders):
            yield Part(
                number=number,
                file=index,
                start=first.place - (OVERLAP if first.forced else 0),
                end=last.place + (OVERLAP if last.forced else 0),
                own_start=first.place,
                own_end=last.place,
            )
            number += 1


def _chapters(files: Sequence[FileSurvey], planned: Sequence[PlannedFile]) -> Iterator[Chapter]:
    for file, place in zip(_named(files), planned, strict=True):
        for chapter in file.chapters if file.samples else ():
            yield Chapter(
                title=chapter.title,
                start=place.offset + chapter.start,
                end=place.offset + chapter.end,
                source=chapter.source,
            )


def _named(files: Sequence[FileSurvey]) -> list[FileSurvey]:
    """Name each file's only chapter after the file where the tags say the same in all of them."""
    single = [f.chapters[0] for f in files if len(f.chapters) == 1 and f.chapters[0].source == "tags"]
    if len(single) < 2 or len({chapter.title for chapter in single}) > 1:
        return list(files)
    return [_after_file(file) if file.chapters and file.chapters[0] in single else file for file in files]


def _after_file(file: FileSurvey) -> FileSurvey:
    old = file.chapters[0]
    title = PurePosixPath(file.path).stem or old.title
    chapter = FileChapter(title=title, start=old.start, end=old.end, source="folder")
    return msgspec.structs.replace(file, chapters=(chapter,))


def _gaps(files: Sequence[FileSurvey], planned: Sequence[PlannedFile]) -> Iterator[Damage]:
    for file, place in zip(files, planned, strict=True):
        if not file.samples and file.problem in _GAP_PROBLEMS:
            yield Damage(start=place.offset, end=place.offset, reason=file.problem)
        for damage in file.damage if file.samples else ():
            start, end = (min(max(0, at), file.samples) for at in (damage.start, damage.end))
            yield Damage(start=place.offset + start, end=place.offset + end, reason=damage.reason)


def _hash(survey: Survey, settings: Settings) -> str:
    deciding = [
        [f.path, f.size, f.content, f.samples, f.problem, f.pauses, f.damage, f.chapters]
        for f in survey.files
    ]
    return _digest([RULES, survey.decoder, settings, deciding])


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
