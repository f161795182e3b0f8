"""What a Bridge makes of a cluster's answers, and what it sends there."""

import hashlib
import importlib
import pickletools
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest

from bridge_agent.base.errors import SettingsError
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.cluster import errand as sent
from bridge_agent.transcription.cluster.executor import ClusterExecutor
from bridge_agent.transcription.cluster.fitness import AGAIN_S, Fitness
from bridge_agent.transcription.cluster.foreign import Lost
from bridge_agent.transcription.cluster.messages import Answer, Errand, OtherModel
from bridge_agent.transcription.cluster.opening import open_cluster
from bridge_agent.transcription.cluster.scheduler import Scheduler, _offers
from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.errors import EngineDied, EngineError, EngineUnavailable, OutOfMemory
from bridge_agent.transcription.model import EngineInfo, PartResult, decode, encode
from bridge_agent.transcription.pipeline.executor import BadAudio, PartWork
from tests.fakes.clock import FakeClock

INFO = EngineInfo(name="fake", version="1", model="small", device="cpu", compute_type="int8")
RESULT = PartResult(number=0, segments=(), language="en", engine=INFO)
AUDIO = b"fLaC and so on"


class FakeScheduler:
    """Does each errand as a script of answers says, the address left to it."""

    topic = "words"

    def __init__(self, *answers: Answer | Exception) -> None:
        self.workers = {"tcp://one": 1, "tcp://two": 2}
        self.answers = list(answers)
        self.errands: list[Errand] = []
        self.among: list[Collection[str] | None] = []
        self.why: str | None = None

    def why_none(self) -> str | None:
        return self.why

    async def run(
        self, errand: bytes, flac: bytes, among: Collection[str] | None, heard: Callable[[str], None]
    ) -> bytes:
        self.errands.append(decode(errand, Errand))
        self.among.append(among)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        heard("so far")
        return encode(answer)


class KilledWorker(Exception):
    """Named like Dask's."""


def executor(scheduler: FakeScheduler, clock: FakeClock, **settings: object) -> ClusterExecutor:
    wanted = replace(BridgeSettings(data_dir=Path("unused")), **settings)  # type: ignore[arg-type]
    return ClusterExecutor(wanted, clock, scheduler)  # type: ignore[arg-type]


def work(folder: Path, **changed: object) -> PartWork:
    path = folder / "3.flac"
    path.write_bytes(AUDIO)
    given = {
        "recording_id": 1, "number": 3, "attempt": 1, "path": path,
        "sha256": hashlib.sha256(AUDIO).hexdigest(), "size": len(AUDIO), "samples": 16_000,
        "context": Context(model=""), "planned_model": "small",
    }  # fmt: skip
    return PartWork(**{**given, **changed})  # type: ignore[arg-type]


def can_not(where: str, code: str = "engine_unavailable") -> Answer:
    return Answer(where=where, code=code, sentence=f"{where} can't; mend it.")


async def test_words_come_back_as_the_parts_own(tmp_path: Path, clock: FakeClock):
    scheduler, words = FakeScheduler(Answer(where="tcp://one", info=INFO, result=RESULT)), []
    found = await executor(scheduler, clock).run(work(tmp_path), words.append)
    assert (found.number, found.flags, words) == (3, (), ["so far"])
    assert scheduler.errands[0].context.model == "small"


async def test_audio_that_is_not_what_was_cut_is_not_sent(tmp_path: Path, clock: FakeClock):
    scheduler = FakeScheduler()
    with pytest.raises(BadAudio):
        await executor(scheduler, clock).run(work(tmp_path, sha256="0" * 64), lambda text: None)
    assert scheduler.errands == []


@pytest.mark.parametrize("folder", ["/models/mine", "~/mine", "models\\mine"])
async def test_no_path_of_this_machine_is_sent(tmp_path: Path, clock: FakeClock, folder: str):
    scheduler = FakeScheduler(Answer(where="tcp://one", info=INFO, result=RESULT))
    await executor(scheduler, clock, speech_model=folder).run(work(tmp_path), lambda text: None)
    raw = encode(scheduler.errands[0])
    assert scheduler.errands[0].context.model == ""
    assert str(tmp_path).encode() not in raw
    assert b"mine" not in raw


async def test_a_worker_without_an_engine_is_passed_over_for_a_while(tmp_path: Path, clock: FakeClock):
    good = Answer(where="tcp://two", info=INFO, result=RESULT)
    scheduler = FakeScheduler(can_not("tcp://one"), good, good)
    cluster = executor(scheduler, clock)
    await cluster.run(work(tmp_path), lambda text: None)
    assert scheduler.among == [None, ["tcp://two"]]
    assert cluster.places == 2
    await clock.advance(AGAIN_S + 1)
    assert cluster.places == 3


async def test_where_nobody_can_the_reason_is_told(tmp_path: Path, clock: FakeClock):
    cluster = executor(FakeScheduler(can_not("tcp://one"), can_not("tcp://two")), clock)
    with pytest.raises(EngineUnavailable, match="tcp://one can't; mend it"):
        await cluster.run(work(tmp_path), lambda text: None)
    assert (cluster.places, cluster.why_none()) == (0, "tcp://one can't; mend it.")


async def test_nobody_is_asked_twice_however_long_it_takes_all_to_fail(tmp_path: Path, clock: FakeClock):
    class Slow(FakeScheduler):
        async def run(self, errand, flac, among, heard):  # type: ignore[no-untyped-def]
            await clock.advance(AGAIN_S + 1)
            return await super().run(errand, flac, among, heard)

    scheduler = Slow(can_not("tcp://one"), can_not("tcp://two"))
    with pytest.raises(EngineUnavailable, match="can't; mend it"):
        await executor(scheduler, clock).run(work(tmp_path), lambda text: None)
    assert scheduler.among == [None, ["tcp://two"]]


async def test_a_worker_that_the_scheduler_does_not_name_is_believed_too(tmp_path: Path, clock: FakeClock):
    scheduler = FakeScheduler(can_not("tcp://other"), can_not("tcp://other"))
    with pytest.raises(EngineUnavailable, match="tcp://other can't; mend it"):
        await executor(scheduler, clock).run(work(tmp_path), lambda text: None)


def test_workers_that_have_gone_are_forgotten(clock: FakeClock):
    fitness = Fitness(clock)
    for number in range(9):
        fitness.can(f"tcp://{number}", "small", INFO)
        fitness.can_not(f"tcp://{number}", "large", OtherModel())
    fitness.keep(["tcp://3", "tcp://new"])
    assert len(fitness) == 1
    assert fitness.info("tcp://3", "small") == INFO
    assert fitness.why_not("tcp://3", "large") is not None
    assert fitness.why_not("tcp://4") is None
    fitness.ask_again("large")
    assert fitness.why_not("tcp://3") is None


async def test_an_errand_that_cannot_be_sent_leaves_nobody_listening(clock: FakeClock):
    class Closed:
        def submit(self, *args: object, **kwargs: object) -> object:
            raise RuntimeError("the client is closed")

    scheduler = Scheduler("tcp://scheduler:8786", clock, Tasks("test"))
    scheduler._client = Closed()
    with pytest.raises(RuntimeError):
        await scheduler.run(b"", b"", None, lambda text: None)
    assert not scheduler._listeners


async def test_another_model_is_flagged_where_the_owner_allows_it(tmp_path: Path, clock: FakeClock):
    scheduler = FakeScheduler(Answer(where="tcp://one", info=INFO, result=RESULT))
    found = await executor(scheduler, clock).run(work(tmp_path, planned_model="large"), lambda text: None)
    assert found.flags == ("other_settings",)
    assert scheduler.errands[0].planned == ""


async def test_another_model_takes_no_part_where_the_owner_does_not(tmp_path: Path, clock: FakeClock):
    scheduler = FakeScheduler(can_not("tcp://one", "other_model"), can_not("tcp://two", "other_model"))
    with pytest.raises(OtherModel):
        await executor(scheduler, clock, worker_any_model=False).run(work(tmp_path), lambda text: None)
    assert [errand.planned for errand in scheduler.errands] == ["small", "small"]


@pytest.mark.parametrize(
    ("what", "becomes"),
    [
        (can_not("tcp://one", "out_of_memory"), OutOfMemory),
        (can_not("tcp://one", "unheard_of"), EngineError),
        (KilledWorker("part"), EngineDied),
        (ModuleNotFoundError("bridge_agent"), EngineUnavailable),
        (Lost(), EngineUnavailable),
    ],
)
async def test_what_goes_wrong_there_goes_wrong_here(
    tmp_path: Path, clock: FakeClock, what: Answer | Exception, becomes: type[Exception]
):
    with pytest.raises(becomes) as raised:
        await executor(FakeScheduler(what), clock).run(work(tmp_path), lambda text: None)
    assert type(raised.value) is becomes


async def test_an_engine_is_asked_for_once_while_its_worker_stays(clock: FakeClock):
    scheduler = FakeScheduler(Answer(where="tcp://one", info=INFO), Answer(where="tcp://two", info=INFO))
    cluster = executor(scheduler, clock)
    assert await cluster.info("", lambda done, total: None) == INFO
    assert await cluster.info("", lambda done, total: None) == INFO
    assert len(scheduler.errands) == 1
    del scheduler.workers["tcp://one"]
    await cluster.info("", lambda done, total: None)
    assert len(scheduler.errands) == 2


def test_only_running_workers_with_the_resource_count():
    workers = {
        "a": {"resources": {"speech": 2.0}, "status": "running"},
        "b": {"resources": {"GPU": 1.0}, "status": "running"},
        "c": {"resources": {"speech": 1.0}, "status": "paused"},
        "d": {"status": "running"},
    }
    assert _offers(workers) == {"a": 2}


def test_the_scheduler_needs_nothing_of_this_program():
    importlib.import_module("cloudpickle").register_pickle_by_value(sent)
    raw = importlib.import_module("distributed.protocol.pickle").dumps(sent.run)
    imports = {arg for op, arg, _ in pickletools.genops(raw) if op.name == "GLOBAL"}
    assert not any("bridge_agent" in str(arg) for arg in imports)
    code = (
        "import pickle, sys; sys.modules['bridge_agent'] = None\n"
        f"run = pickle.loads({raw!r})\n"
        "try: run(b'', b'')\nexcept ImportError: print('loaded, and no program')"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "loaded, and no program"


@pytest.mark.parametrize(
    "text", ["scheduler:8786", "http://scheduler:8786", "tcp://scheduler", "tcp://:8786"]
)
def test_an_address_that_is_none_is_refused(tmp_path: Path, text: str):
    with pytest.raises(SettingsError, match="BRIDGE_CLUSTER"):
        BridgeSettings.load({"BRIDGE_CLUSTER": text}, data_dir=tmp_path)


async def test_without_the_setting_there_is_no_cluster(tmp_path: Path, clock: FakeClock):
    assert open_cluster(BridgeSettings(data_dir=tmp_path), clock, Tasks("test")) is None
