"""What was learnt, so that nothing is found out twice: of files, of languages, of executors' speeds."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from bridge_agent.store import Queries
from bridge_agent.transcription.model import FileSurvey, decode, encode

SQL = Queries("bridge_agent.transcription.pipeline", "learnt.sql")


class Spoken(NamedTuple):
    """The language of a book (None: nobody could tell), and whether that is sure."""

    language: str | None
    sure: bool


def survey(c: sqlite3.Connection, file_key: str, now: str) -> FileSurvey | None:
    """Return what was learnt of a file, and keep it for another while."""
    row = c.execute(SQL["survey"], {"file_key": file_key}).fetchone()
    if row is None:
        return None
    c.execute(SQL["use_survey"], {"file_key": file_key, "now": now})
    found: FileSurvey = decode(row["survey"].encode(), FileSurvey)
    return found


def keep_survey(c: sqlite3.Connection, file_key: str, found: FileSurvey, now: str) -> None:
    """Learn a file."""
    values = {"file_key": file_key, "survey": encode(found).decode(), "now": now}
    c.execute(SQL["keep_survey"], values)


def language(c: sqlite3.Connection, survey_key: str) -> Spoken | None:
    """Return the language that was heard in a book."""
    row = c.execute(SQL["language"], {"survey_key": survey_key}).fetchone()
    return None if row is None else Spoken(row["language"], bool(row["sure"]))


def keep_language(c: sqlite3.Connection, survey_key: str, spoken: Spoken, now: str) -> None:
    """Learn a book's language."""
    values = {
        "survey_key": survey_key,
        "language": spoken.language,
        "sure": int(spoken.sure),
        "now": now,
    }
    c.execute(SQL["keep_language"], values)


def speeds(c: sqlite3.Connection, model: str, quality: str) -> dict[str, float]:
    """Return how fast each executor was with a model, in seconds of audio a second."""
    found = c.execute(SQL["speeds"], {"model": model, "quality": quality}).fetchall()
    return {row["executor"]: row["speed"] for row in found}


def keep_speeds(c: sqlite3.Connection, model: str, quality: str, found: Mapping[str, float]) -> None:
    """Remember how fast executors were."""
    for executor, speed in found.items():
        values = {"executor": executor, "model": model, "quality": quality, "speed": speed}
        c.execute(SQL["keep_speed"], values)


def forget_old(c: sqlite3.Connection, before: str) -> None:
    """Drop what nobody has asked for since a time."""
    c.execute(SQL["forget_surveys"], {"before": before})
    c.execute(SQL["forget_languages"], {"before": before})
