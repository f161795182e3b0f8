"""A long book survives ten kills of the Bridge: what is finished is used each time, the bytes are the same.

BRIDGE_LONG_BOOK_MINUTES makes it longer than the 12 minutes that keep the suite quick: 60 is the full hour.
"""

import asyncio
import os
import signal
import sqlite3
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.crash.test_speech_household import SPEECH, artifacts, ended, press
from tests.fakes import spoken, whisper_base
from tests.fakes.processes import Household, household

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

RATE = 16_000
KILLS = 10
CHAPTERS = 40
MINUTES = float(os.environ.get("BRIDGE_LONG_BOOK_MINUTES", "12"))
BOOK = "Somebody/The Long Book"


def speech() -> bytes:
    """Return the demo's speech, and the samples' where they are."""
    found = [spoken.demo_pcm(name) for name in spoken.FILES]
    folder = spoken.samples_folder()
    if folder is not None:
        found.append(spoken.pcm_of(folder / "librivox.flac"))
    return b"".join(found)


def write_book(folder: Path, minutes: float, chapters: int) -> None:
    """Write a book of so many chapters, the speech said again and again until it is that long.

    No two chapters begin at the same place of the speech: equal sound is heard only once.
    """
    folder.mkdir(parents=True)
    said = speech()
    each = round(minutes * 60 * RATE / chapters) * 2
    said *= each * chapters // len(said) + 1
    for number in range(chapters):
        with wave.open(str(folder / f"{number + 1:02d} - Chapter {number + 1}.wav"), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(RATE)
            out.writeframes(said[each * number : each * (number + 1)])


def finished(folder: Path) -> dict[str, tuple[str, str]]:
    """Return each finished part's result, and when it was made, as the killed Bridge left them."""
    connection = sqlite3.connect(folder / "bridge" / "transcription.sqlite3")
    try:
        rows = connection.execute("SELECT part_key, result, made_at FROM finished_parts").fetchall()
        return {key: (result, made_at) for key, result, made_at in rows}
    finally:
        connection.close()


def tries(folder: Path) -> int:
    """Return the most that any part was tried without success: kills count none."""
    connection = sqlite3.connect(folder / "bridge" / "transcription.sqlite3")
    try:
        return int(connection.execute("SELECT coalesce(max(tries), 0) FROM tasks").fetchone()[0])
    finally:
        connection.close()


async def more_than(home: Household, job: int, least: int) -> None:
    """Wait until more than that many parts are finished."""
    async with asyncio.timeout(900):
        while len(finished(home.folder)) <= least:
            found = await home.api("GET", f"/admin/bridge/jobs/{job}")
            assert found["state"] not in ("done", "failed", "cancelled"), found
            await asyncio.sleep(0.05)


async def killed(home: Household, library: int, moments: Sequence[float]) -> tuple[int, dict[str, Any]]:
    """Transcribe the book, the Bridge killed so many seconds after each next part; return job and result."""
    job = await press(home, library, BOOK)
    kept: dict[str, tuple[str, str]] = {}
    for moment in moments:
        await more_than(home, job, len(kept))
        await asyncio.sleep(moment)
        await home.bridge.stop(signal.SIGKILL)
        now = finished(home.folder)
        # Made once: what was finished before the last kill was not heard again after it.
        assert kept.items() <= now.items()
        assert len(now) > len(kept)
        assert tries(home.folder) <= 1
        kept = now
        await home.start_bridge()
    result = await ended(home, job, within=1800)
    assert result["state"] == "done", result["error"]
    assert result["attempts"] == 1
    assert result["result"]["reused_parts"] >= len(kept)
    return job, result


async def same_as_undisturbed(home: Household, library: int, job: int) -> None:
    """Transcribe the book anew, in peace, and compare every byte."""
    other = await press(home, library, BOOK, force=True)
    undisturbed = await ended(home, other, within=1800)
    assert undisturbed["state"] == "done", undisturbed["error"]
    assert undisturbed["result"]["reused_parts"] == 0
    found = await artifacts(home, job)
    assert len(found) >= 4
    assert await artifacts(home, other) == found


@pytest.mark.requirement("P-064", "P-070")
async def test_a_long_book_survives_ten_kills_of_the_bridge(tmp_path: Path):
    write_book(tmp_path / "library" / BOOK, MINUTES, CHAPTERS)
    async with household(tmp_path, **SPEECH, BRIDGE_SPEECH_MODEL="scripted:slow=1") as home:
        library = await home.add_library("Books", tmp_path / "library")
        moments = [0.11 * (number % 6) for number in range(KILLS)]
        job, result = await killed(home, library, moments)
        assert result["result"]["parts"] >= CHAPTERS
        await same_as_undisturbed(home, library, job)


@pytest.mark.requirement("P-064", "P-070")
async def test_a_book_for_real_survives_kills_of_the_bridge(tmp_path: Path):
    model = str(whisper_base.model_folder())
    write_book(tmp_path / "library" / BOOK, MINUTES / 4, 6)
    async with household(tmp_path, **SPEECH, BRIDGE_SPEECH_MODEL=model) as home:
        library = await home.add_library("Books", tmp_path / "library")
        job, _ = await killed(home, library, [0.3, 1.1])
        await same_as_undisturbed(home, library, job)
