"""A worker of stand-in ears over a real wire, on a hurried clock."""

import asyncio
from pathlib import Path
from typing import Any

from bridge_agent.base.errors import ExitCode
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.transcription.engines.base import Context, Heard
from bridge_agent.transcription.model import RATE, EngineInfo, Segment, Span, Word
from bridge_agent.worker.coordinator import Coordinator, Limits
from bridge_agent.worker.ear import Ear
from bridge_agent.worker.gate import Gate
from bridge_agent.worker.hold import Tools
from bridge_agent.worker.identity import Identity
from bridge_agent.worker.shelf import Shelf
from bridge_agent.worker.trust import Trust
from bridge_agent.worker.worker import Mode, Worker
from tests.fakes import coordinator as fake
from tests.fakes.coordinator import TOKEN, HurriedClock

ENGINE = EngineInfo(name="scripted", version="1", model="scripted", device="cpu", compute_type="int8")


class FakePool:
    """Engines that hear one word a part, in as many seconds as a test says."""

    def __init__(self, clock: HurriedClock, size: int = 1) -> None:
        self.size = size
        self.seconds = 2.0
        self.errors: list[Exception] = []
        self.contexts: list[Context] = []
        self.at_once = self.most_at_once = 0
        self.let_go = 0
        self.hold = asyncio.Event()
        self.hold.set()
        self._clock = clock

    async def transcribe(self, pcm: bytes, context: Context) -> Heard:
        self.contexts.append(context)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.errors:
                raise self.errors.pop(0)
            await self._clock.sleep(self.seconds)
            await self.hold.wait()
        except asyncio.CancelledError:
            self.let_go += 1
            raise
        finally:
            self.at_once -= 1
        end = len(pcm) // 2
        words = (
            Word(
                start=1, end=end - 7, text=" " + pcm[:8].decode("ascii", "replace"), probability=0.123456789
            ),
        )
        segment = Segment(
            start=1, end=end - 7, text=words[0].text, avg_logprob=-1 / 3, no_speech_prob=0.1, words=words
        )
        return Heard(
            segments=(segment,),
            language="en",
            speech=(Span(start=0, end=end),),
            engine=ENGINE,
            flags=("rerun",),
        )


class FakeDecoder:
    """Takes a part's bytes for its samples."""

    async def pcm(self, path: Path) -> bytes:
        return path.read_bytes()


def audio(name: str, seconds: float = 30.0) -> bytes:
    """Return “audio” that tells its name."""
    return name.encode().ljust(int(seconds * RATE) * 2, b"\0")


class Rig:
    """One coordinator and any number of workers, one after the other, on one folder."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.folder = folder
        self.clock = HurriedClock()
        self.bridge = fake.Coordinator(clock=self.clock, **more)
        self.pool = FakePool(self.clock)
        self.worker: Worker | None = None
        self.running: asyncio.Task[ExitCode] | None = None
        self.tasks = Tasks("rig")
        self.trust: Trust = True
        self.shelf = Shelf(folder / "finished", self.clock)
        self._open: list[Coordinator] = []

    async def start(self, **mode: Any) -> None:
        """Start a worker as a process would."""
        ends = mode.get("once") or mode.get("idle_exit")
        coordinator = self.coordinator(None if ends else 60.0)
        self.shelf = Shelf(self.folder / "finished", self.clock)
        await self.shelf.open()
        ear = Ear(self.pool, FakeDecoder(), self.clock)
        (self.folder / "audio").mkdir(exist_ok=True)
        tools = Tools(
            clock=self.clock,
            tasks=self.tasks,
            coordinator=coordinator,
            ear=ear,
            engine=ENGINE,
            shelf=self.shelf,
            folder=self.folder / "audio",
            places=asyncio.Semaphore(self.pool.size),
            changed=asyncio.Event(),
        )
        identity = Identity(self.folder / "worker.json", coordinator, TOKEN, "gpu", ENGINE.model)
        self.worker = Worker(tools, identity, Mode(**mode))
        self.running = asyncio.create_task(self.worker.run())

    def coordinator(self, retry_s: float | None = 60.0) -> Coordinator:
        """Return a client of the coordinator."""
        gate = Gate(self.clock, retry_s)
        client = Coordinator(self.bridge.url, TOKEN, self.trust, self.clock, gate, short=Limits(2, 1, 2))
        self._open.append(client)
        return client

    async def ends(self, patience: float = 10.0) -> ExitCode:
        """Wait for the worker's end."""
        assert self.running is not None
        async with asyncio.timeout(patience):
            return await self.running

    async def kill(self) -> None:
        """End the worker as kill -9 would: nothing more is said."""
        for client in self._open:
            await client.close()
            client._http = _dead  # type: ignore[method-assign]
        if self.running is not None:
            await cancel_and_wait(self.running)
        await self.tasks.cancel()

    async def close(self) -> None:
        if self.running is not None:
            await cancel_and_wait(self.running)
        await self.tasks.cancel()
        for client in self._open:
            await client.close()
        await self.bridge.unplug()

    @property
    def kept(self) -> list[Path]:
        """What lies on the shelf."""
        return sorted((self.folder / "finished").glob("*.json"))


def _dead() -> Any:
    raise OSError("dead")
