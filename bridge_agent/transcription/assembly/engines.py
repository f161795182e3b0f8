"""Which engine a transcript names, and where another one heard."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from bridge_agent.transcription.assembly.heard import HeardPart
from bridge_agent.transcription.assembly.transcript import Engine, EnginePart, seconds, to_ms
from bridge_agent.transcription.model import EngineInfo, Plan

_Kind = tuple[str, str, str, str]


def engine_of(plan: Plan, parts: Sequence[HeardPart]) -> tuple[Engine, frozenset[int]]:
    """Return the engine that heard most of the book, and the numbers of parts that another model heard.

    Parts with another device or compute type are listed in it, stretch by stretch.
    """
    heard: Counter[_Kind] = Counter()
    for each in parts:
        heard[_kind(each.result.engine)] += each.part.own_end - each.part.own_start
    if not heard:
        return Engine(name="", model=PurePath(plan.settings.model).name, compute_type=""), frozenset()
    main = min(heard, key=lambda kind: (-heard[kind], kind))
    others = frozenset(each.part.number for each in parts if _kind(each.result.engine)[:2] != main[:2])
    return Engine(name=main[0], model=main[1], compute_type=main[3], parts=_stretches(parts, main)), others


def main_device(engines: Sequence[EngineInfo]) -> str:
    """Return the device that most of the parts were heard on; empty where there are none."""
    counted = Counter(engine.device for engine in engines)
    return min(counted, key=lambda device: (-counted[device], device), default="")


def _kind(engine: EngineInfo) -> _Kind:
    return engine.name, engine.model, engine.device, engine.compute_type


def _stretches(parts: Sequence[HeardPart], main: _Kind) -> tuple[EnginePart, ...]:
    found: list[EnginePart] = []
    for each in parts:
        kind = _kind(each.result.engine)
        if kind == main:
            continue
        start, end = seconds(to_ms(each.own_start)), seconds(to_ms(each.own_end))
        if found and found[-1].end == start and _named(found[-1]) == kind:
            start = found.pop().start
        name, model, device, compute_type = kind
        found.append(
            EnginePart(start=start, end=end, name=name, model=model, device=device, compute_type=compute_type)
        )
    return tuple(found)


def _named(part: EnginePart) -> _Kind:
    return part.name, part.model, part.device, part.compute_type
