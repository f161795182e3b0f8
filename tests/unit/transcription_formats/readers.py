"""Reads WebVTT and SubRip back as strictly as their descriptions have them."""

import html
import re
from dataclasses import dataclass

_STAMP = re.compile(r"(\d{2,}):([0-5]\d):([0-5]\d)([.,])(\d{3})\Z")


@dataclass(frozen=True)
class Read:
    start: int
    end: int
    lines: tuple[str, ...]


def vtt(raw: bytes) -> tuple[list[Read], list[str]]:
    """Return the cues and notes of a WebVTT file; raises AssertionError for anything out of order."""
    text = raw.decode("utf-8")
    assert text.startswith("WEBVTT\n")
    cues, notes = [], []
    for block in text[len("WEBVTT\n") :].strip("\n").split("\n\n"):
        lines = block.split("\n")
        if not block:
            continue
        assert all(lines)
        if lines[0].startswith("NOTE "):
            assert "-->" not in block
            notes.append(block.removeprefix("NOTE "))
            continue
        assert lines[0] == str(len(cues) + 1)
        for line in lines[2:]:
            assert "-->" not in line
            assert not re.search(r"[<>]|&(?!amp;|lt;|gt;)", line)
        cues.append(_cue(lines, "."))
        cues[-1] = Read(cues[-1].start, cues[-1].end, tuple(html.unescape(x) for x in cues[-1].lines))
    return cues, notes


def srt(raw: bytes) -> list[Read]:
    """Return the cues of a SubRip file."""
    text = raw.decode("utf-8")
    if not text:
        return []
    assert text.endswith("\n")
    cues = []
    for block in text.removesuffix("\n").split("\n\n"):
        lines = block.split("\n")
        assert lines[0] == str(len(cues) + 1)
        assert all("-->" not in line for line in lines[2:])
        cues.append(_cue(lines, ","))
    return cues


def _cue(lines: list[str], mark: str) -> Read:
    start, end = lines[1].split(" --> ")
    assert 1 <= len(lines[2:]) <= 2
    return Read(_time(start, mark), _time(end, mark), tuple(lines[2:]))


def _time(text: str, mark: str) -> int:
    match = _STAMP.match(text)
    assert match is not None
    assert match[4] == mark
    return ((int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])) * 1000 + int(match[5])
