"""A book shared by worker processes of which one is killed, one cut off and one lies: the same transcript."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bridge_agent.worker_api.opening import Invitation
from bridge_agent.worker_api.service.lease import HOLDERS
from tests.crash.pipeline_child import order
from tests.crash.test_pipeline_kill import make_book
from tests.fakes import spoken, whisper_base
from tests.fakes.short_parts import short_parts
from tests.fakes.work_host import Host, Proxy, WorkerProcess, host

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MODEL = "scripted:slow=1"
LEASE_S = 4.0


class Liar:
    """A worker with a token of its own that claims, and then tells every lie there is."""

    def __init__(self, invited: Invitation) -> None:
        self._url = invited.url
        self._http = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {invited.token}"}, connector=aiohttp.TCPConnector(ssl=False)
        )
        self.statuses: list[tuple[str, int]] = []

    async def close(self) -> None:
        await self._http.close()

    async def lie(self, others: asyncio.Future[str]) -> None:
        """Claim a part, hand in nonsense, then someone else's part and a claim that never was."""
        me = (await self._send("POST", "/workers/register", name="liar", capabilities=["transcribe"]))[
            "worker_id"
        ]
        task: dict[str, Any] = {}
        while not task:
            task = await self._send("POST", "/tasks/claim", worker_id=me)
            await asyncio.sleep(0.05)
        mine, attempt = task["task_id"], task["attempt"]
        await self._lies("no transcript", mine, me, attempt, b"not JSON at all")
        await self._lies("stale", mine, me, attempt - 1, b'{"segments":[]}')
        await self._lies("to come", mine, me, attempt + 1, b'{"segments":[]}')
        other = await others
        await self._lies("another's", other, me, 1, b'{"segments":[{"start":0,"end":1,"text":"a lie"}]}')
        told = await self._raw("POST", f"/tasks/{other}/failure", worker_id=me, attempt=1, retryable=False)
        self.statuses.append(("another's failure", told[0]))
        # And then it is silent: its lease ends by itself.

    async def _lies(self, what: str, task: str, me: str, attempt: int, content: bytes) -> None:
        headers = {"X-Worker-ID": me, "X-Task-Attempt": str(attempt), "Content-Type": "application/json"}
        async with self._http.put(
            f"{self._url}/tasks/{task}/artifacts/a", data=content, headers=headers
        ) as answer:
            self.statuses.append((f"{what}: put", answer.status))
            stored = await answer.json(content_type=None) if answer.status == 200 else {}
        told = await self._raw(
            "POST",
            f"/tasks/{task}/result",
            worker_id=me,
            attempt=attempt,
            result={"artifact_id": stored.get("artifact_id", "11111111-1111-4111-8111-111111111111")},
        )
        self.statuses.append((f"{what}: result", told[0]))

    async def _send(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        status, answer = await self._raw(method, path, **body)
        assert status in (200, 201, 204), (path, status, answer)
        return answer

    async def _raw(self, method: str, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        async with self._http.request(method, self._url + path, json=body) as answer:
            raw = await answer.read()
            return answer.status, (await answer.json(content_type=None) if raw else {})


async def alone(folder: Path, books: Path, model: str) -> dict[str, bytes]:
    """Transcribe a book by the single lane of one machine."""
    async with host(folder, speech_model=model, speech_processes=1) as bridge:
        documents, made = await bridge.transcribe(order(books))
        assert list(made) == ["this computer"]
        return documents


async def held_by(bridge: Host, invited: Invitation) -> str:
    """Wait until a worker is on a part; return the part's id on the coordinator's wire."""
    held = f"SELECT id FROM tasks WHERE phase = 'transcribing' AND holder GLOB '{HOLDERS}{invited.id}/*'"
    while True:
        found = await bridge.rooms.db.read(lambda c: c.execute(held).fetchone())
        if found is not None:
            parts = bridge.coordinator.coordinator._parts
            assert parts is not None
            return parts.ids.of(int(found[0]))
        await asyncio.sleep(0.05)


async def despite_faults(place: Path, books: Path, model: str) -> tuple[dict[str, bytes], dict[str, int]]:
    """Transcribe a book by this machine and three workers: one is killed, one cut off, one lies.

    Returns the documents, and who made how many parts; all lies have been seen to be refused.
    """
    async with host(
        place / "bridge",
        speech_model=model,
        speech_processes=1,
        worker_lease_seconds=LEASE_S,
        worker_tls="on",
    ) as bridge:
        names = {name: await bridge.workers.invite(name) for name in ("killed", "cut", "liar")}
        proxy = await Proxy(bridge.workers.listener.port).start()
        environ = {"BRIDGE_SPEECH_MODEL": model}
        killed = WorkerProcess(place / "killed", names["killed"], **environ)
        cut = WorkerProcess(place / "cut", names["cut"], f"https://127.0.0.1:{proxy.port}", **environ)
        others: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        liar = Liar(names["liar"])
        tasks: list[asyncio.Task[Any]] = []
        try:
            await asyncio.gather(killed.start(), cut.start())
            await asyncio.gather(*(worker.until_said("waits for parts", 60) for worker in (killed, cut)))
            book = asyncio.create_task(bridge.transcribe(order(books)))
            lies = asyncio.create_task(liar.lie(others))
            tasks += [book, lies]
            async with asyncio.timeout(60):
                others.set_result(await held_by(bridge, names["killed"]))
                await held_by(bridge, names["cut"])
            proxy.black_hole()
            killed.process.send_signal(signal.SIGKILL)
            await killed.ends()
            await killed.start()
            found = await asyncio.wait_for(book, 240)
            await asyncio.wait_for(lies, 10)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(killed.kill(), cut.kill())
            await liar.close()
            await proxy.stop()
    assert dict(liar.statuses) == {
        "no transcript: put": 200,
        "no transcript: result": 400,
        "stale: put": 409,
        "stale: result": 404,
        "to come: put": 409,
        "to come: result": 404,
        "another's: put": 409,
        "another's: result": 404,
        "another's failure": 409,
    }
    return found


async def test_a_book_survives_a_kill_a_pulled_cable_and_a_liar(tmp_path: Path):
    make_book(tmp_path, files=14)
    undisturbed = await alone(tmp_path / "alone", tmp_path / "books", MODEL)
    documents, made = await despite_faults(tmp_path, tmp_path / "books", MODEL)
    assert documents == undisturbed
    assert made["killed"] >= 2
    assert "liar" not in made
    assert sum(made.values()) == 14


async def test_the_demo_books_survive_them_with_real_engines(tmp_path: Path):
    model = str(whisper_base.model_folder())
    spoken.demo_books(tmp_path / "books")
    with short_parts(12, window=4, most=20, least=5, overlap=2):
        undisturbed = await alone(tmp_path / "alone", tmp_path / "books", model)
        documents, made = await despite_faults(tmp_path, tmp_path / "books", model)
    assert documents == undisturbed
    assert made.get("killed", 0) >= 1
    assert "liar" not in made
