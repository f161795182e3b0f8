"""From this wire's transcript, a text and parts with time codes, to the partial of a part."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bridge_agent.transcription.model import RATE
from bridge_agent.worker_api.service.partial import Partial, PartialEngine, PartialSegment
from bridge_agent.worker_api.transcription_v1.validation import Heard

_CODE = re.compile(r"\s*(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2}(?:[.,]\d{1,6})?)", re.ASCII)


def partial(heard: Heard, notes: Mapping[str, Any], samples: int) -> Partial:
    """Return the partial; what the result does not say of itself is as /progress said it last."""
    said = {**{name: notes[name] for name in ("language", "engine", "duration", "metadata") if name in notes}}
    said.update(heard.said)
    length = samples / RATE
    if isinstance(said.get("duration"), int | float) and said["duration"] > 0:
        length = min(length, float(said["duration"]))
    parts = [part for part in heard.parts or () if part["text"].strip()]
    segments = _timed(parts, length) if parts else _whole(heard.text or "", length)
    return Partial(
        segments=segments,
        language=said.get("language"),
        engine=_engine(said.get("engine"), said.get("metadata")),
    )


def _whole(text: str, length: float) -> list[PartialSegment]:
    return [PartialSegment(start=0.0, end=length, text=text.strip())] if text.strip() else []


def _timed(parts: Sequence[Mapping[str, str]], length: float) -> list[PartialSegment]:
    """Return a segment a part: from its own time to the next one's; one without a time joins on."""
    starts: list[float] = []
    for part in parts:
        at = _seconds(part.get("timeCode", ""))
        earliest = starts[-1] if starts else 0.0
        starts.append(earliest if at is None else min(max(at, earliest), length))
    found = []
    for number, part in enumerate(parts):
        end = next((start for start in starts[number + 1 :] if start > starts[number]), length)
        found.append(PartialSegment(start=starts[number], end=end, text=part["text"].strip()))
    return found


def _seconds(code: str) -> float | None:
    match = _CODE.match(code)
    if match is None:
        return None
    hours, minutes, seconds = match.groups()
    return int(hours or 0) * 3600.0 + int(minutes) * 60.0 + float(seconds.replace(",", "."))


def _engine(name: object, metadata: object) -> PartialEngine | None:
    about = metadata if isinstance(metadata, dict) else {}
    told = {
        "name": name or about.get("engine"),
        "model": about.get("model"),
        "device": about.get("device"),
        "compute_type": about.get("compute_type") or about.get("computeType"),
    }
    kept = {field: value for field, value in told.items() if isinstance(value, str)}
    return PartialEngine(**kept) if kept else None
