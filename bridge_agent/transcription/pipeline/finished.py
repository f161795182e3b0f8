"""Finished parts, kept by what their words follow from, until the book is done (settled point 6)."""

import json
import sqlite3
from collections.abc import Collection

import msgspec

from bridge_agent.store import Queries
from bridge_agent.transcription.model import PartResult, Value, decode, encode

SQL = Queries("bridge_agent.transcription.pipeline", "finished.sql")


class FinishedPart(Value, frozen=True):
    """A part of a recording with its result, and who made it, by the name that people know."""

    result: PartResult
    made_by: str
    samples: int


def keep(c: sqlite3.Connection, part_key: str, result: PartResult, made_by: str, now: str) -> None:
    """Keep a result; of two for one part the first stays."""
    raw = encode(result).decode()
    c.execute(SQL["keep"], {"part_key": part_key, "result": raw, "made_by": made_by, "now": now})


def use(c: sqlite3.Connection, part_keys: Collection[str], now: str) -> set[str]:
    """Return which of these parts are finished; they are kept for another while."""
    keys = json.dumps(sorted(part_keys))
    c.execute(SQL["use"], {"part_keys": keys, "now": now})
    return {row["part_key"] for row in c.execute(SQL["there"], {"part_keys": keys}).fetchall()}


def of_recording(c: sqlite3.Connection, recording_id: int) -> list[FinishedPart]:
    """Return the finished parts of a recording in their order, numbered as it numbers them."""
    found = []
    for row in c.execute(SQL["of_recording"], {"recording_id": recording_id}).fetchall():
        result = decode(row["result"].encode(), PartResult)
        renumbered = msgspec.structs.replace(result, number=row["number"])
        found.append(FinishedPart(result=renumbered, made_by=row["made_by"], samples=row["samples"]))
    return found


def let_go(c: sqlite3.Connection, recording_id: int) -> None:
    """Drop the parts of a book that is done, those apart that another recording still uses."""
    c.execute(SQL["let_go"], {"recording_id": recording_id})


def forget_old(c: sqlite3.Connection, before: str, running: Collection[int]) -> int:
    """Drop parts that nobody has used since a time; return how many."""
    values = {"before": before, "running": json.dumps(sorted(running))}
    return c.execute(SQL["forget_old"], values).rowcount
