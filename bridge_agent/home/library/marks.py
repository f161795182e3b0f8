"""Chapter marks inside one audio file: ID3 CHAP, MP4 chapters, Vorbis CHAPTER comments, OverDrive markers."""

import re
from typing import Any

from bridge_agent.home.library.facts import Mark
from bridge_agent.home.library.quicktime import read_chapter_track

_SHORTEST_S = 0.1
_MOST = 5000
_MARKER = re.compile(r"<Marker>\s*<Name>(.{0,500}?)</Name>\s*<Time>([\d:.]+)</Time>", re.DOTALL)
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


def read_marks(media: Any, path: str) -> tuple[Mark, ...]:  # noqa: ANN401 - mutagen has no types
    """Return the chapters of an opened file; raises what a damaged file makes its parser raise."""
    length = float(getattr(media.info, "length", 0.0) or 0.0)
    tags = media.tags
    # OverDrive's markers win over all others.
    points = _overdrive(tags)
    if not points and getattr(media, "chapters", None):
        points = [(float(chapter.start), str(chapter.title)) for chapter in media.chapters]
    if not points and type(media).__name__ == "MP4":
        points = read_chapter_track(path)
    if not points and tags is not None:
        points = _id3(tags) or _comments(tags)
    return from_points(points, length)


def from_points(points: list[tuple[float, str]], length: float) -> tuple[Mark, ...]:
    """Turn starts and titles into chapters up to the next start; those under 0.1 s are dropped (A-54)."""
    within = sorted(
        (start, title) for start, title in points[:_MOST] if start >= 0 and (not length or start < length)
    )
    if not within:
        return ()
    ends = [*(start for start, _ in within[1:]), length or within[-1][0]]
    return tuple(
        Mark(_tidy(title) or f"Chapter {number}", round(start, 3), round(end, 3))
        for number, ((start, title), end) in enumerate(zip(within, ends, strict=True), 1)
        if end - start >= _SHORTEST_S
    )


def clock_time(text: str) -> float:
    """Read `1:02:03.5` or `62:03` as seconds; raises ValueError."""
    seconds = 0.0
    for part in text.split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def _id3(tags: Any) -> list[tuple[float, str]]:  # noqa: ANN401
    if not hasattr(tags, "getall"):
        return []
    points = []
    for frame in tags.getall("CHAP"):
        titles = frame.sub_frames.getall("TIT2")
        points.append((frame.start_time / 1000, str(titles[0]) if titles else ""))
    return points


def _comments(tags: Any) -> list[tuple[float, str]]:  # noqa: ANN401
    """Read Vorbis comments `CHAPTER001=00:00:00.000` and `CHAPTER001NAME=…`."""
    points = []
    for key in list(tags.keys()):
        found = re.fullmatch(r"chapter(\d{2,3})", key.lower()) if isinstance(key, str) else None
        if found and (value := tags[key]):
            names = tags.get(f"{key}NAME") or tags.get(f"{key}name") or [""]
            points.append((clock_time(str(value[0])), str(names[0])))
    return points


def _overdrive(tags: Any) -> list[tuple[float, str]]:  # noqa: ANN401
    frame = tags.get("TXXX:OverDrive MediaMarkers") if tags is not None and hasattr(tags, "getall") else None
    if frame is None:
        return []
    return [(clock_time(time), _plain(name)) for name, time in _MARKER.findall(str(frame))]


def _plain(text: str) -> str:
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    return text


def _tidy(title: str) -> str:
    kept = "".join(c if c.isprintable() else " " for c in title)
    return " ".join(kept.split()).encode("utf-8", "ignore").decode()[:200]
