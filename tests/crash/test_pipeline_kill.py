"""The pipeline is killed, really, before every write: the transcript is byte for byte the undisturbed one."""

import array
import asyncio
import hashlib
import math
import signal
import sqlite3
import sys
import wave
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RATE = 16_000
SECONDS = 6


def make_book(folder: Path, files: int = 2) -> Path:
    """Write a book of tones that pause as speech does."""
    (folder / "books").mkdir(parents=True)
    for number in range(files):
        with wave.open(str(folder / "books" / f"{number}.wav"), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(RATE)
            out.writeframes(tones(number).tobytes())
    return folder


def tones(number: int) -> "array.array[int]":
    pitch = 200 + 60 * number
    return array.array(
        "h",
        (
            int(9000 * math.sin(2 * math.pi * (pitch + 17 * (n // RATE)) * n / RATE))
            if n // 8000 % 4 != 3
            else 0
            for n in range(RATE * SECONDS)
        ),
    )


async def run(folder: Path, kill_before: int = 0) -> tuple[int, str]:
    """Run the pipeline over a folder's book; return how it ended and what it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.crash.pipeline_child",
        str(folder),
        str(kill_before),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


def transcripts(folder: Path) -> dict[str, str]:
    """Return the hash of each file that came of it."""
    found = sorted((folder / "transcripts").iterdir())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def state(folder: Path) -> tuple[dict[str, int], int]:
    """Return the tasks' states, and how many parts were tried more than once, of a killed run."""
    connection = sqlite3.connect(folder / "data" / "transcription.sqlite3")
    try:
        found = connection.execute("SELECT state, count(*) FROM tasks GROUP BY state").fetchall()
        tried = connection.execute("SELECT count(*) FROM tasks WHERE tries > 1").fetchone()[0]
        return dict(found), tried
    except sqlite3.OperationalError:
        return {}, 0
    finally:
        connection.close()


@pytest.mark.requirement("P-064", "P-070")
async def test_killed_before_every_write_it_ends_with_the_same_bytes(tmp_path: Path):
    undisturbed = make_book(tmp_path / "undisturbed")
    code, said = await run(undisturbed)
    assert code == 0
    expected = transcripts(undisturbed)
    assert len(expected) == 4
    states: set[tuple[tuple[str, int], ...]] = set()
    for number in range(1, int(said.split()[0]) + 3):
        folder = make_book(tmp_path / str(number))
        code, _ = await run(folder, number)
        if code == 0:
            continue
        assert code == -signal.SIGKILL
        found, tried = state(folder)
        states.add(tuple(sorted(found.items())))
        assert tried == 0
        code, said = await run(folder)
        assert code == 0
        assert transcripts(folder) == expected, f"killed before write {number}"
    # It was killed in all states that a book of two parts passes.
    assert {(), (("created", 2),), (("done", 2),)} <= states
    assert any("converted" in dict(each) for each in states)
    assert any(dict(each).get("done") == 1 for each in states)


async def test_a_run_that_is_killed_again_and_again_uses_what_is_finished(tmp_path: Path):
    undisturbed = make_book(tmp_path / "undisturbed", files=6)
    code, _ = await run(undisturbed)
    assert code == 0
    folder = make_book(tmp_path / "killed", files=6)
    kills, done = 0, 0
    while True:
        code, _ = await run(folder, 22)
        if code == 0:
            break
        kills += 1
        found, _ = state(folder)
        assert found.get("done", 0) >= done
        assert set(found) <= {"created", "converted", "done"}
        done = found.get("done", 0)
        assert kills < 20
    assert kills >= 3
    assert transcripts(folder) == transcripts(undisturbed)
