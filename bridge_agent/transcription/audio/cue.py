"""Cue sheets: the tracks of one audio file, with times in frames of a seventy-fifth of a second."""

import re
from dataclasses import dataclass

from bridge_agent.transcription.model import RATE

_FRAMES = 75
_LINE = re.compile(r"^\s*(FILE|TRACK|TITLE|INDEX)\s+(.+?)\s*$", re.IGNORECASE)
_QUOTED = re.compile(r'^"(.*)"')
_INDEX = re.compile(r"^01\s+(\d{1,4}):(\d{1,2}):(\d{1,2})$")


@dataclass
class _Track:
    file: str
    title: str = ""
    start: int | None = None


def marks(sheet: str, name: str) -> list[tuple[str, int]]:
    """Return (title, start in samples) of the tracks in the file of that name.

    Where the sheet speaks of one file only, its tracks are the file's whatever it is called there: files get
    renamed and converted, sheets stay.
    """
    tracks = _tracks(sheet)
    files = {track.file for track in tracks}
    if len(files) > 1:
        tracks = [t for t in tracks if _same(t.file, name)]
    return [
        (track.title or f"Track {number}", track.start)
        for number, track in enumerate(tracks, 1)
        if track.start is not None
    ]


def _tracks(sheet: str) -> list[_Track]:
    file, tracks = "", list[_Track]()
    for line in sheet.splitlines():
        if (found := _LINE.match(line)) is None:
            continue
        word, rest = found.group(1).upper(), found.group(2)
        if word == "FILE":
            file = _unquoted(rest.rsplit(" ", 1)[0] if not rest.endswith('"') else rest)
        elif word == "TRACK":
            tracks.append(_Track(file))
        elif tracks and tracks[-1].file == file:
            _tell(tracks[-1], word, rest)
    return tracks


def _tell(track: _Track, word: str, rest: str) -> None:
    if word == "TITLE":
        track.title = _unquoted(rest)
    elif word == "INDEX" and (at := _INDEX.match(rest)) is not None:
        minutes, seconds, frames = map(int, at.groups())
        track.start = ((minutes * 60 + seconds) * _FRAMES + frames) * RATE // _FRAMES


def _unquoted(text: str) -> str:
    found = _QUOTED.match(text)
    return (found.group(1) if found else text).strip()


def _same(named: str, name: str) -> bool:
    return re.split(r"[/\\]", named)[-1].casefold() == name.casefold()
