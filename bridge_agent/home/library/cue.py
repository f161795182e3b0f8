"""Cue sheets: the chapters of one audio file in a text file beside it."""

import re

from bridge_agent.home.library.facts import Mark

_TITLE = re.compile(r'^\s*TITLE\s+"?(.*?)"?\s*$', re.IGNORECASE)
_INDEX = re.compile(r"^\s*INDEX\s+01\s+(\d{1,4}):(\d{2}):(\d{2})\s*$", re.IGNORECASE)
_TRACK = re.compile(r"^\s*TRACK\s+\d+", re.IGNORECASE)
_FILE = re.compile(r"^\s*FILE\s", re.IGNORECASE)
_FRAMES = 75
_MOST = 5000
_LONGEST = 500


def read_cue(text: str) -> tuple[Mark, ...]:
    """Return the chapters that a sheet names, each end at its start until the file's length is known.

    A sheet over several files says nothing that their names do not: it gives none.
    """
    marks: list[Mark] = []
    title, files, inside = "", 0, False
    for line in text.splitlines():
        if len(line) > _LONGEST:
            continue
        if _FILE.match(line):
            files += 1
        elif _TRACK.match(line):
            title, inside = "", True
        elif inside and (found := _TITLE.match(line)):
            title = found[1]
        elif inside and (found := _INDEX.match(line)):
            start = int(found[1]) * 60 + int(found[2]) + int(found[3]) / _FRAMES
            marks.append(Mark(title, round(start, 3), round(start, 3)))
    return tuple(marks[:_MOST]) if files == 1 else ()
