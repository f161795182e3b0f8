"""A whole household whose Bridge leaves all speech to one worker that was invited by its API."""

import signal
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.worker_api.opening import Invitation
from tests.crash.test_speech_household import SPEECH, book_library, ended, press
from tests.fakes.processes import free_port, household
from tests.fakes.work_host import WorkerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def test_a_machine_joins_by_its_invitation_and_takes_the_whole_book(tmp_path: Path):
    environ = {
        **SPEECH,
        "BRIDGE_SPEECH_PROCESSES": "0",
        "BRIDGE_SPEECH_MODEL": "scripted",
        "BRIDGE_WORKER_LISTEN": f"127.0.0.1:{free_port()}",
        "BRIDGE_WORKER_TLS": "on",
    }
    async with household(tmp_path, **environ) as home:
        library = await book_library(home, tmp_path, files=6)
        made: dict[str, Any] = await home.send(
            "POST", f"{home.bridge_url}/api/workers/tokens", {"name": "gpu"}
        )
        invited = Invitation(**{name: made[name] for name in ("id", "name", "token", "url", "fingerprint")})
        worker = WorkerProcess(tmp_path / "gpu", invited, BRIDGE_SPEECH_MODEL="scripted")
        await worker.start()
        try:
            await worker.until_said("takes this worker; it waits for parts")
            job = await press(home, library, "Somebody/Tones", language="en")
            result = await ended(home, job)
            assert result["state"] == "done", result["error"]
            assert [(each["name"], each["parts"]) for each in result["result"]["workers"]] == [("gpu", 6)]
            await home.bridge.stop(signal.SIGTERM)
            await home.start_bridge()
            again = await press(home, library, "Somebody/Tones", language="en", force=True)
            assert (await ended(home, again))["state"] == "done"
            revoked = f"{home.bridge_url}/api/workers/tokens/{invited.id}"
            async with home.http.delete(revoked) as answer:
                assert answer.status in (200, 204)
            await worker.until_said("The Bridge refuses this worker’s token")
            worker.process.send_signal(signal.SIGTERM)
            assert await worker.ends(10) == 0
        finally:
            await worker.kill()
        assert worker.said.count("ERROR") == 1
