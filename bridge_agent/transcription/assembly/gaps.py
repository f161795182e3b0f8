"""Gaps: stretches without words and why, damage from the plan beside parts that failed."""

from collections.abc import Mapping

from bridge_agent.transcription.assembly.transcript import Gap, seconds, to_ms
from bridge_agent.transcription.model import PartResult, Plan

REASONS = frozenset({"damaged", "truncated", "unreadable", "drm", "failed"})


def gaps(plan: Plan, results: Mapping[int, PartResult]) -> list[Gap]:
    """Return all gaps by their start; failed parts that follow each other in a file are one."""
    found = [(gap.start, gap.end, gap.reason if gap.reason in REASONS else "damaged") for gap in plan.gaps]
    found += [(start, end, "failed") for start, end in _failed(plan, results)]
    return [
        Gap(start=seconds(to_ms(start)), end=seconds(to_ms(end)), reason=reason)
        for start, end, reason in sorted(set(found))
    ]


def _failed(plan: Plan, results: Mapping[int, PartResult]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    last_file = -1
    for part in sorted(plan.parts, key=lambda each: each.number):
        if part.number in results:
            continue
        offset = plan.files[part.file].offset
        start, end = offset + part.own_start, offset + part.own_end
        if joined and part.file == last_file and joined[-1][1] == start:
            start = joined.pop()[0]
        joined.append((start, end))
        last_file = part.file
    return joined
