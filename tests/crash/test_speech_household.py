"""Books transcribed by a whole household: for real, and with a Bridge that is killed at any moment."""

import asyncio
import difflib
import hashlib
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.crash.test_household import QUICK, SAMPLES
from tests.crash.test_pipeline_kill import make_book
from tests.fakes import spoken, whisper_base
from tests.fakes.processes import Household, household

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KIND = "transcribe.book"
SPEECH = {**QUICK, "BRIDGE_SPEECH_PROCESSES": "2", "BRIDGE_HOME_LEASE_SECONDS": "20"}


async def press(home: Household, library: int, path: str, **params: Any) -> int:
    body = {"kind": KIND, "library_id": library, "path": path, "params": params}
    return int((await home.api("POST", "/admin/bridge/jobs", body))["id"])


async def artifacts(home: Household, job: int) -> dict[str, bytes]:
    listed = (await home.api("GET", f"/admin/bridge/jobs/{job}/artifacts"))["artifacts"]
    found = {}
    for each in listed:
        url = f"{home.home_url}/api/v1/admin/bridge/jobs/{job}/artifacts/{each['name']}"
        async with home.http.get(url, headers=home.admin) as answer:
            found[each["name"]] = await answer.read()
        assert hashlib.sha256(found[each["name"]]).hexdigest() == each["sha256"]
    return found


async def ended(home: Household, job: int, within: float = 240.0) -> dict[str, Any]:
    async with asyncio.timeout(within):
        while True:
            found: dict[str, Any] = await home.api("GET", f"/admin/bridge/jobs/{job}")
            if found["state"] in ("done", "failed", "cancelled"):
                return found
            await asyncio.sleep(0.2)


async def progress(home: Household, job: int, step: str, done: float = 0.0) -> dict[str, Any]:
    """Wait until a job is in a step, and so far in it."""
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = await home.api("GET", f"/admin/bridge/jobs/{job}")
            told = found["progress"] or {}
            if told.get("step") == step and (told.get("done") or 0.0) >= done:
                return found
            assert found["state"] not in ("done", "failed", "cancelled"), found
            await asyncio.sleep(0.05)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower().replace("’", "'"))


async def test_the_demo_books_are_transcribed_for_real(tmp_path: Path):
    model = whisper_base.model_folder()
    books = Path(shutil.copytree(SAMPLES, tmp_path / "books"))
    async with household(tmp_path, **SPEECH, BRIDGE_SPEECH_MODEL=str(model)) as home:
        library = await home.add_library("Books", books)
        for path, names in (
            ("Aesop/Three Fables", ["Three Fables.m4b"]),
            ("Folk Tales/Stone Soup", ["01 - Chapter 1.mp3", "02 - Chapter 2.mp3"]),
        ):
            job = await press(home, library, path)
            result = await ended(home, job)
            assert result["state"] == "done", result["error"]
            found = await artifacts(home, job)
            said = words(found["transcript.txt"].decode())
            truth = words("\n".join(spoken.demo_text(name) for name in names))
            alike = difflib.SequenceMatcher(None, said, truth, autojunk=False).ratio()
            assert alike >= 0.93, alike
            assert result["result"]["language"] == "en"
            assert result["result"]["engine"]["name"] == "faster-whisper"
            assert {each["stored"] for each in result["result"]["artifacts"]} == {"server"}
        again = await press(home, library, "Aesop/Three Fables")
        at_once = await ended(home, again, within=20)
        assert at_once["result"]["seconds_spent"] == 0.0
        assert (await artifacts(home, again)).keys() == found.keys()


async def book_library(home: Household, tmp_path: Path, files: int) -> int:
    make_book(tmp_path / "library", files)
    (tmp_path / "library" / "books").rename(tmp_path / "library" / "Tones")
    (tmp_path / "library" / "Somebody").mkdir()
    (tmp_path / "library" / "Tones").rename(tmp_path / "library" / "Somebody" / "Tones")
    return await home.add_library("Books", tmp_path / "library")


async def test_a_bridge_that_is_killed_goes_on_with_what_is_finished(tmp_path: Path):
    async with household(tmp_path, **SPEECH, BRIDGE_SPEECH_MODEL="scripted:slow=0.7") as home:
        library = await book_library(home, tmp_path, files=12)
        job = await press(home, library, "Somebody/Tones")
        for done in (6.0, 20.0, 35.0):
            await progress(home, job, "transcribe", done)
            await home.bridge.stop(signal.SIGKILL)
            await home.start_bridge()
        result = await ended(home, job)
        assert result["state"] == "done", result["error"]
        assert result["attempts"] == 1
        assert result["result"]["parts"] == 12
        assert result["result"]["reused_parts"] >= 4
        killed = await artifacts(home, job)
        other = await press(home, library, "Somebody/Tones", force=True)
        undisturbed = await ended(home, other)
        assert undisturbed["result"]["reused_parts"] == 0
        assert await artifacts(home, other) == killed


async def test_a_cancel_frees_the_machine_and_the_next_job_uses_what_is_finished(tmp_path: Path):
    async with household(tmp_path, **SPEECH, BRIDGE_SPEECH_MODEL="scripted:busy=1") as home:
        library = await book_library(home, tmp_path, files=8)
        job = await press(home, library, "Somebody/Tones")
        await progress(home, job, "transcribe", 12.0)
        await home.api("POST", f"/admin/bridge/jobs/{job}/cancel")
        assert (await ended(home, job, within=10))["state"] == "cancelled"
        again = await press(home, library, "Somebody/Tones")
        result = await ended(home, again)
        assert result["state"] == "done"
        assert result["result"]["reused_parts"] >= 2


async def test_at_work_it_stops_within_eight_seconds_and_goes_on_at_the_next_start(tmp_path: Path):
    async with household(tmp_path, **SPEECH, BRIDGE_SPEECH_MODEL="scripted:slow=1") as home:
        library = await book_library(home, tmp_path, files=8)
        job = await press(home, library, "Somebody/Tones")
        await progress(home, job, "transcribe", 6.0)
        assert await home.bridge.stop(signal.SIGTERM, patience=8.0) == 0
        await home.start_bridge()
        result = await ended(home, job)
        assert (result["state"], result["attempts"]) == ("done", 1)
        assert result["result"]["reused_parts"] >= 1


async def test_a_library_that_goes_away_in_the_middle_is_waited_for(tmp_path: Path):
    async with household(tmp_path, **SPEECH, BRIDGE_SPEECH_MODEL="scripted:slow=0.5") as home:
        library = await book_library(home, tmp_path, files=12)
        job = await press(home, library, "Somebody/Tones")
        await progress(home, job, "transcribe", 6.0)
        (tmp_path / "library").rename(tmp_path / "gone")
        await home.job_in(job, "needs_attention")
        waiting = await home.api("GET", f"/admin/bridge/jobs/{job}")
        assert "check that its drive is connected" in waiting["error"]
        (tmp_path / "gone").rename(tmp_path / "library")
        result = await ended(home, job)
        assert result["state"] == "done", result["error"]
        assert result["attempts"] == 1
