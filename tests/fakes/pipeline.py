"""A pipeline on stand-ins: files of a text each for audio, a decoder and executors that a test scripts."""

import asyncio
import hashlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bridge_agent.base.tasks import Tasks
from bridge_agent.store import Database
from bridge_agent.store.database import open_inline
from bridge_agent.transcription.audio.cut_file import CutFile
from bridge_agent.transcription.audio.errors import AudioAway
from bridge_agent.transcription.model import (
    RATE,
    EngineInfo,
    FileSurvey,
    Part,
    PartResult,
    Segment,
    Settings,
    Span,
    Word,
)
from bridge_agent.transcription.pipeline.executor import BadAudio, Download, PartWork, WordsSoFar
from bridge_agent.transcription.pipeline.opening import SCHEMA
from bridge_agent.transcription.pipeline.order import Order, SourceFile
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.transcription.pipeline.policy import Retries
from bridge_agent.transcription.pipeline.recordings import Asker, Recording
from bridge_agent.transcription.pipeline.senders import NotRunning, Replies
from tests.fakes.clock import FakeClock

PART_S = 150
INFO = EngineInfo(name="fake", version="1", model="tiny", device="cpu", compute_type="int8")
SETTINGS = Settings(language="en", model="", quality="balanced", word_timestamps=True, prompt="")


class FakeDecoder:
    """Reads files whose bytes are one letter for each part of 150 s; remembers what it did."""

    def __init__(self) -> None:
        self.surveyed: list[str] = []
        self.cuts: list[int] = []
        self.opened: list[list[int]] = []
        self.open_streams = 0
        self.fail_cut: dict[int, list[Exception]] = defaultdict(list)
        self.fail_survey: list[Exception] = []

    async def name(self) -> str:
        return "fake decoder 1"

    async def stamp(self, path: Path) -> str:
        return hashlib.sha256(_read(path) + str(path.stat().st_mtime_ns).encode()).hexdigest()

    async def survey(
        self, path: Path, relative: str, progress: Callable[[int], None] | None = None
    ) -> FileSurvey:
        if self.fail_survey:
            raise self.fail_survey.pop(0)
        self.surveyed.append(relative)
        content = _read(path)
        samples = len(content) * PART_S * RATE
        if progress is not None:
            progress(samples // 2)
        pauses = [
            Span(start=n * PART_S * RATE - RATE, end=n * PART_S * RATE + RATE) for n in range(1, len(content))
        ]
        return FileSurvey(
            path=relative,
            size=len(content),
            content=hashlib.sha256(content).hexdigest(),
            samples=samples,
            pauses=tuple(pauses),
            loud=(Span(start=0, end=30 * RATE),) if content else (),
            problem=None if content else "unreadable",
            sentence=None if content else f"“{relative}” is empty; copy or download it again.",
            stamp=await self.stamp(path),
        )

    async def cut(
        self, path: Path, parts: Sequence[Part], target: Callable[[Part], Path], ahead: int = 1
    ) -> AsyncIterator[tuple[Part, CutFile]]:
        self.opened.append([part.number for part in parts])
        self.open_streams += 1
        try:
            for part in parts:
                if self.fail_cut[part.number]:
                    raise self.fail_cut[part.number].pop(0)
                content = _read(path)
                place = target(part)
                place.parent.mkdir(parents=True, exist_ok=True)
                first = part.start // (PART_S * RATE)
                audio = content[first : first + 1]
                place.write_bytes(audio)
                self.cuts.append(part.number)
                sha256 = hashlib.sha256(audio).hexdigest()
                yield part, CutFile(path=place, sha256=sha256, size=len(audio), samples=part.samples)
        finally:
            self.open_streams -= 1

    async def pcm(self, path: Path) -> bytes:
        return _read(path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise AudioAway(f"“{path.name}” can't be read; check that its drive is connected.") from error


Script = Callable[[PartWork], Awaitable[None]]


class FakeExecutor:
    """Hears each part in `seconds` of the clock, unless a test scripts something else for it."""

    pulls = False

    def __init__(self, clock: FakeClock, name: str = "fake", places: int = 1, seconds: float = 10.0) -> None:
        self.clock = clock
        self.name = name
        self.places = places
        self.seconds = seconds
        self.heard: Counter[int] = Counter()
        self.begun: Counter[int] = Counter()
        self.at_work = 0
        self.most_at_work = 0
        self.fail: dict[int, list[Exception]] = defaultdict(list)
        self.always_fail: dict[int, Exception] = {}
        self.info_fails: list[Exception] = []
        self.contexts: list[object] = []
        self.languages: list[dict[str, float]] = []
        self.why: str | None = None

    def why_none(self) -> str | None:
        return self.why

    def why_not(self, planned: str) -> str | None:
        return None

    async def info(self, model: str, download: Download) -> EngineInfo:
        if self.info_fails:
            raise self.info_fails.pop(0)
        download(1, 2)
        return INFO

    def worst_case(self, samples: int) -> float:
        return 4 * samples / RATE

    async def run(self, work: PartWork, heard: WordsSoFar) -> PartResult:
        self.begun[work.number] += 1
        self.contexts.append(work.context)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            if work.number in self.always_fail:
                raise self.always_fail[work.number]
            if self.fail[work.number]:
                raise self.fail[work.number].pop(0)
            audio = work.path.read_bytes() if work.path.exists() else b""
            if hashlib.sha256(audio).hexdigest() != work.sha256:
                raise BadAudio
            await self.clock.sleep(self.seconds / 2)
            text = f" word{audio.decode()}" * 300
            heard(text[: len(text) // 2])
            await self.clock.sleep(self.seconds / 2)
        finally:
            self.at_work -= 1
        self.heard[work.number] += 1
        word = Word(start=0, end=RATE, text=text, probability=0.5)
        segment = Segment(
            start=0, end=RATE, text=text.strip(), avg_logprob=-0.1, no_speech_prob=0.0, words=(word,)
        )
        return PartResult(number=work.number, segments=(segment,), language="en", engine=INFO)

    async def detect_language(self, path: Path, model: str) -> dict[str, float] | None:
        return self.languages.pop(0) if self.languages else {"en": 0.9}


class FakeSender:
    """Keeps what it was to tell; may be away."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Recording]] = []
        self.running = True

    async def send(self, addressee: str, ended: Recording) -> None:
        if not self.running:
            raise NotRunning
        self.told.append((addressee, ended))


@dataclass
class Rig:
    """A pipeline over a real SQLite file, its clock in the test's hands."""

    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)
    retries: Retries = field(default_factory=Retries)
    decoder: FakeDecoder = field(default_factory=FakeDecoder)
    executors: list[FakeExecutor] = field(default_factory=list)
    sender: FakeSender = field(default_factory=FakeSender)
    said: list[tuple[str, str, float | None, float | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.executors = self.executors or [FakeExecutor(self.clock)]
        self.tasks = Tasks("rig")
        self.open()

    @property
    def executor(self) -> FakeExecutor:
        return self.executors[0]

    def open(self) -> None:
        """Open the store and build the pipeline, as a new process does."""
        self.db: Database = open_inline(self.folder / "transcription.sqlite3", SCHEMA)
        self.pipeline = Pipeline(
            self.clock,
            self.db,
            self.decoder,
            self.executors,
            self.folder / "cut",
            self.tasks,
            retries=self.retries,
            replies=Replies({"server": self.sender}),
        )

    def book(self, *contents: str, name: str = "book") -> tuple[SourceFile, ...]:
        """Write files of one letter a part; return them as a source."""
        files = []
        for number, content in enumerate(contents):
            path = self.folder / name / f"{number:02d}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            files.append(
                SourceFile(path=path, relative=f"{name}/{path.name}", expected_s=len(content) * 150.0)
            )
        return tuple(files)

    def order(self, files: tuple[SourceFile, ...], job: str = "s/1", **changed: object) -> Order:
        """Return an order of a server's job."""
        settings = msgspec.structs.replace(SETTINGS, **changed)
        return Order(
            asker=Asker("server", job), title="A Book", author="Somebody", files=files, settings=settings
        )

    def progress(self, step: str, message: str, done: float | None, total: float | None) -> None:
        self.said.append((step, message, done, total))

    async def start(self, order: Order) -> tuple[int, "asyncio.Task[None]"]:
        """Begin and run an order; return its recording's id and the run."""
        id_ = await self.pipeline.begin(order)
        return id_, asyncio.create_task(self.pipeline.run(id_, self.progress))

    async def finish(
        self, running: "asyncio.Task[None]", within: float = 36_000.0, step: float = 1.0
    ) -> float:
        """Let time pass until a run has ended, and return how much; raises what the run raises."""
        passed = 0.0
        while not running.done():
            assert passed < within, "the run does not end"
            await self.pass_time(step)
            passed += step
        await running
        return passed

    async def pass_time(self, seconds: float) -> None:
        """Let some time pass, and threads do their work meanwhile."""
        await self.clock.advance(seconds)
        await asyncio.sleep(0.001)

    async def do(self, order: Order) -> int:
        """Run an order to its end; return its recording's id."""
        id_, running = await self.start(order)
        await self.finish(running)
        return id_

    async def until(self, condition: Callable[[], object], within: float = 3600.0) -> None:
        """Let time pass until a condition holds."""
        passed = 0.0
        while not condition():
            assert passed < within, "it never came to that"
            await self.pass_time(0.5)
            passed += 0.5

    async def die(self, running: "asyncio.Task[None]") -> None:
        """End as a killed process does: the store keeps what it holds, nobody tidies up."""
        kept = self.db
        self.db = _Dead()  # type: ignore[assignment]
        for holder in (self.pipeline.desk, self.pipeline, self.pipeline._tools):
            object.__setattr__(holder, "_db" if holder is not self.pipeline._tools else "db", self.db)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await self.tasks.cancel()
        await kept.close()
        self.tasks = Tasks("rig")
        self.open()


class _Dead:
    """A store whose process is gone."""

    async def write(self, unit: object) -> None:
        raise asyncio.CancelledError

    read = write
