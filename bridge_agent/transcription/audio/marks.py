"""A file's chapters: from its container or its tags, a cue sheet, else the file as one. In a child only."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from bridge_agent.transcription.audio import chapters, cue, sidecar
from bridge_agent.transcription.audio.chapters import Mark
from bridge_agent.transcription.model import RATE, FileChapter

if TYPE_CHECKING:
    from av.container import InputContainer

_BY_TAGS = frozenset({"mp3", "ogg", "flac", "aac", "wav"})


def of_file(path: Path, container: "InputContainer", samples: int, relative: str) -> tuple[FileChapter, ...]:
    """Return chapters that tile the file; `relative` names it where nothing else does.

    QuickTime's text tracks, Nero's list, Matroska's and the tags' chapters come through the container.
    """
    name = PurePosixPath(relative).name
    tags = _tags(container)
    inside = _inside(container, samples)
    if len(inside) > 1:
        return inside
    for sheet, source in ((_beside(path), "file"), (tags.get("cuesheet", ""), "tags")):
        found = [Mark(title, start) for title, start in cue.marks(sheet, name)] if sheet else []
        by_sheet = chapters.sanitised(found, samples, source)
        if len(by_sheet) > 1:
            return by_sheet
    return inside or chapters.whole(samples, tags.get("title", ""), name)


def _inside(container: "InputContainer", samples: int) -> tuple[FileChapter, ...]:
    names = set(container.format.name.split(","))
    found = [
        Mark(
            str(each["metadata"].get("title", "")),
            _samples(each["start"], each["time_base"]),
            _samples(each["end"], each["time_base"]),
        )
        for each in container.chapters()
        if each["time_base"]
    ]
    return chapters.sanitised(found, samples, "tags" if names & _BY_TAGS else "file")


def _samples(count: int, time_base: Fraction | None) -> int:
    return 0 if time_base is None else count * RATE * time_base.numerator // time_base.denominator


def _beside(path: Path) -> str:
    sheet = sidecar.cue_beside(path)
    return "" if sheet is None else sidecar.read_text(sheet)


def _tags(container: "InputContainer") -> Mapping[str, str]:
    """Return the container's tags with lower-case names; Ogg has them on its track."""
    tags = {
        key.lower(): value for stream in container.streams.audio for key, value in stream.metadata.items()
    }
    return tags | {key.lower(): value for key, value in container.metadata.items()}
