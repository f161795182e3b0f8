"""Books shared by worker processes, the cost of their wire, two hundred claimants, and a kill -9.

Speech is heard with Whisper's base model, int8, one thread a worker. BRIDGE_BENCH_WORKERS_FILES: how many
files of a minute or so the books have (20); BRIDGE_BENCH_WORKERS_TIMES: how often each is heard, the quickest
counts (2); BRIDGE_BENCH_WORKERS_SECONDS: how long the crowd works (8); BRIDGE_BENCH_WORKERS_MODEL: another
model, like `scripted:busy=3`.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
import wave
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from unittest.mock import patch

import psutil

from bridge_agent.base.threads import in_thread
from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.pipeline.order import Order
from bridge_agent.transcription.pipeline.recordings import Asker
from bridge_agent.transcription.pipeline.tools import Tools
from tests.benchmarks import speech_book, speech_child
from tests.benchmarks.meter import Cost, Meter, ratio
from tests.benchmarks.speech_child import Wish, order
from tests.benchmarks.table import Row, percentile
from tests.benchmarks.worker_crowd import Crowd, Seen
from tests.crash.test_pipeline_kill import tones
from tests.fakes import spoken, whisper_base
from tests.fakes.short_parts import short_parts
from tests.fakes.work_host import Host, WorkerProcess, host

FILES = int(os.environ.get("BRIDGE_BENCH_WORKERS_FILES", "20"))
TIMES = int(os.environ.get("BRIDGE_BENCH_WORKERS_TIMES", "2"))
SECONDS = float(os.environ.get("BRIDGE_BENCH_WORKERS_SECONDS", "8"))
MODEL = os.environ.get("BRIDGE_BENCH_WORKERS_MODEL", "")
FILE_S = 60
CROWD = 200
CLAIM_S = 0.050
WIRE = 0.03
TWICE = {"balanced": 1.7, "accurate": 1.9}
LEASE_S = 6.0
BEYOND_S = 5.0


@dataclass(frozen=True)
class Heard:
    """What a book cost, what came of it, and who heard how many of its parts."""

    cost: Cost
    documents: dict[str, bytes]
    made: dict[str, int]


def run() -> list[Row]:
    """Measure throughput and wire, the crowd by both wires, and the kill."""
    with tempfile.TemporaryDirectory() as name:
        return asyncio.run(_rows(Path(name), MODEL or str(whisper_base.model_folder())))


async def _rows(folder: Path, model: str) -> list[Row]:
    rows = await throughput(folder, model)
    for wire in ("coordinator", "worker/v1"):
        rows += await crowd(folder, wire)
    return [*rows, *await kill(folder)]


# ---- books


async def throughput(folder: Path, model: str) -> list[Row]:
    """Compare two workers with one, and one with the local lane."""
    files, warm = speech(folder / "speech", FILES), speech(folder / "warm", 4, begins=60)
    what = f"{FILES} parts of {FILE_S} s, {MODEL or 'Whisper base'}"
    async with host(folder / "lane", speech_model=model, speech_processes=1) as bridge:
        await book(bridge, warm, "balanced", 1)
        lane = await quickest(bridge, files, "balanced", 1)
    rows = []
    async with (
        host(folder / "shared", speech_model=model, speech_processes=0) as bridge,
        workers(bridge, folder, ["first", "second"], model) as ids,
    ):
        await book(bridge, warm, "balanced", 2)
        for quality, limit in TWICE.items():
            one, two = await one_and_two(bridge, ids[1], files, quality)
            bare = "" if MODEL else await machine(files, quality, model)
            rows.append(_twice(f"{quality}, {what}", one, two, limit, bare))
            if quality == "balanced":
                rows.append(_wire(what, lane, one))
    return rows


async def one_and_two(bridge: Host, second: int, files: list[str], quality: str) -> tuple[Heard, Heard]:
    """Hear a book by one worker and by two in turn, some times; return the quickest of each."""
    ones, twos = [], []
    for _ in range(TIMES):
        await bridge.workers.service.pause(second)
        ones.append(await book(bridge, files, quality, 1))
        await bridge.workers.service.resume(second)
        twos.append(await book(bridge, files, quality, 2))
    return _quickest(ones), _quickest(twos)


async def machine(files: list[str], quality: str, model: str) -> str:
    """Say what this machine gives to two processes of the bare library over one, which nobody can beat."""
    wish = Wish(files[: len(files) // 2], model, quality=quality, warm=speech_book.warm())
    alone, together = [], []
    for _ in range(TIMES):
        alone.append((await in_thread(speech_child.run, "bare", wish)).cost.wall)
        both = await asyncio.gather(*(in_thread(speech_child.run, "bare", wish) for _ in range(2)))
        together.append(sum(each.cost.wall for each in both) / 2)
    return (
        f"two processes of the bare library over one, in turn with it: {2 * min(alone) / min(together):.2f}; "
    )


def _twice(what: str, one: Heard, two: Heard, limit: float, bare: str) -> Row:
    found, how = ratio(one.cost, two.cost, other_lanes=2)
    same = _same(one, two)
    note = f"{how}; {bare}one {one.cost.said()}; two {two.cost.said()}, parts {_shares(two)}; {_said(same)}"
    figure = f"two workers on {os.cpu_count()} cores over one: {what}"
    return Row(figure, f"{found:.2f}", f"≥ {limit:g}", found >= limit and same, note)


def _wire(what: str, lane: Heard, one: Heard) -> Row:
    found, how = ratio(one.cost, lane.cost)
    same = _same(one, lane)
    note = f"{how}; worker {one.cost.said()}; lane {lane.cost.said()}; {_said(same)}"
    figure = f"a book through one worker here, slower than by the local lane: {what}"
    return Row(figure, f"{found - 1:+.1%}", f"≤ {WIRE:.0%}", found - 1 <= WIRE and same, note)


def _said(same: bool) -> str:
    return "same transcript" if same else "ANOTHER TRANSCRIPT"


def _same(one: Heard, other: Heard) -> bool:
    return one.documents == other.documents and sum(one.made.values()) == sum(other.made.values())


def _shares(heard: Heard) -> str:
    return " and ".join(str(count) for count in heard.made.values())


async def quickest(bridge: Host, files: list[str], quality: str, lanes: int) -> Heard:
    """Hear a book several times; return the quickest."""
    return _quickest([await book(bridge, files, quality, lanes) for _ in range(TIMES)])


def _quickest(heard: list[Heard]) -> Heard:
    return min(heard, key=lambda each: each.cost.wall)


async def book(bridge: Host, files: list[str], quality: str, lanes: int) -> Heard:
    """Hear a book, none of whose parts is known from before."""
    wanted = _apart(order(files, quality), f"{quality} {lanes} {perf_counter()}")
    with Meter() as meter:
        documents, made = await bridge.transcribe(wanted)
    return Heard(meter.cost, documents, made)


def _apart(wanted: Order, name: str) -> Order:
    return replace(wanted, apart=name, asker=Asker("none", name))


@contextlib.asynccontextmanager
async def workers(bridge: Host, folder: Path, names: list[str], model: str) -> AsyncIterator[list[int]]:
    """Give worker processes that have said they wait for parts, by their ids."""
    started, ids = [], []
    try:
        for name in names:
            invited = await bridge.workers.invite(name)
            environ = {"BRIDGE_SPEECH_MODEL": model, "BRIDGE_WORKER_POLL_SECONDS": "0.05"}
            worker = WorkerProcess(folder / f"worker-{name}", invited, **environ)
            ids.append(invited.id)
            started.append(await worker.start())
        for worker in started:
            await worker.until_said("waits for parts", 120)
        yield ids
    finally:
        await asyncio.gather(*(worker.kill() for worker in started))


def speech(folder: Path, files: int, begins: int = 0) -> list[str]:
    """Write files of the same speech, each after another stretch of quiet, so that no two are alike."""
    folder.mkdir()
    pcm = spoken.demo_pcm("Three Fables.m4b")[begins * RATE * 2 :][: (FILE_S - 4) * RATE * 2]
    return [_wave(folder / f"{n:04}.wav", bytes(RATE // 2 * (n % 8 + 1)) + pcm, n) for n in range(files)]


def _wave(path: Path, pcm: bytes, number: int) -> str:
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(pcm + number.to_bytes(2, "little"))
    return str(path)


# ---- the crowd


async def crowd(folder: Path, wire: str) -> list[Row]:
    """Let a crowd of simulated workers share a book of parts of a second, all cut before."""
    place = folder / f"crowd-{wire.replace('/', '-')}"
    place.mkdir()
    count = int(CROWD * (SECONDS + 2))
    second = tones(1)[: RATE // 2].tobytes() + bytes(RATE)
    file = _wave(place / "long.wav", second * count, 0)
    with (
        short_parts(1.0, window=0.5, most=1.6, least=0.5, overlap=0.0),
        # Real parts last minutes: what cuts two hundred a second is none of this figure.
        patch.object(Tools, "ahead", count * 2),
    ):
        async with host(place / "bridge", speech_model="scripted", speech_processes=0) as bridge:
            return await _crowded(bridge, place, wire, file)


async def _crowded(bridge: Host, place: Path, wire: str, file: str) -> list[Row]:
    invited = [await bridge.workers.invite(f"worker {n}") for n in range(CROWD)]
    for each in invited:
        await bridge.workers.gate.admit(each.token, "127.0.0.1")
    under_way = bridge.tasks.spawn(bridge.transcribe(order([file], "balanced")), "book")
    uncut = "SELECT count(*) = 0 OR sum(state = 'created') > 0 FROM tasks"
    while await _number(bridge, uncut):
        assert not under_way.done(), under_way
        await asyncio.sleep(0.5)
    wanted = Crowd(invited[0].url, [each.token for each in invited], wire, SECONDS)
    (place / "crowd.json").write_text(json.dumps(asdict(wanted)))
    me = psutil.Process()
    before = sum(me.cpu_times()[:2])
    words = ("-m", "tests.benchmarks.worker_crowd", str(place / "crowd.json"))
    child = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    said, _ = await child.communicate()
    used = sum(me.cpu_times()[:2]) - before
    done = await _number(bridge, "SELECT count(*) FROM tasks WHERE state = 'done'")
    under_way.cancel()
    await asyncio.wait({under_way})
    return _crowd_rows(wire, Seen(**json.loads(said)), used, done)


def _crowd_rows(wire: str, seen: Seen, used: float, done: int) -> list[Row]:
    claimed = len(seen.claims) - seen.nothing
    late = percentile(seen.claims, 0.99)
    whole = seen.handed_in == done and not seen.odd
    note = (
        f"median {percentile(seen.claims, 0.5) * 1e3:.0f} ms; {claimed / seen.seconds:.0f} claims/s; "
        f"the Bridge’s process at {used / seen.seconds:.0%} of a core, "
        f"{used / max(1, done) * 1e3:.1f} ms a part; {done} parts done, {len(seen.odd)} refusals"
        f"{f', like {seen.odd[0]}' if seen.odd else ''}; load average {os.getloadavg()[0]:.1f}"
    )
    what = f"claim, {CROWD} workers with parts of a second, {wire}, 99th percentile"
    return [Row(what, f"{late * 1e3:.0f} ms", f"≤ {CLAIM_S * 1e3:.0f} ms", late <= CLAIM_S and whole, note)]


async def _number(bridge: Host, query: str) -> int:
    found = await bridge.rooms.db.read(lambda c: c.execute(query).fetchone())
    return int(found[0])


# ---- the kill


async def kill(folder: Path) -> list[Row]:
    """Kill one of two workers at work; measure until another has every part that it had."""
    place = folder / "kill"
    place.mkdir()
    files = [_wave(place / f"{n}.wav", tones(n).tobytes(), n) for n in range(16)]
    model = "scripted:slow=0.7"
    async with host(place / "alone", speech_model=model, speech_processes=2) as bridge:
        undisturbed = await book(bridge, files, "balanced", 1)
    more = {"speech_model": model, "speech_processes": 0, "worker_lease_seconds": LEASE_S}
    async with host(place / "bridge", **more) as bridge, workers(bridge, place, ["other"], model):
        invited = await bridge.workers.invite("killed")
        victim = WorkerProcess(place / "victim", invited, BRIDGE_SPEECH_MODEL=model)
        under_way = bridge.tasks.spawn(book(bridge, files, "balanced", 2), "book")
        await victim.start()
        try:
            mine = f"worker/{invited.id}/*"
            at_work = f"SELECT count(*) FROM tasks WHERE holder GLOB '{mine}' AND phase = 'transcribing'"
            while not await _number(bridge, at_work):
                await asyncio.sleep(0.02)
        finally:
            await victim.kill()
        recovered = await _recovered(bridge, mine)
        async with asyncio.timeout(120):
            heard = await under_way
    same = heard.documents == undisturbed.documents and sum(heard.made.values()) == len(files)
    said = "nothing twice: the transcript is the undisturbed one" if same else "ANOTHER TRANSCRIPT"
    holds = recovered <= LEASE_S + BEYOND_S and same
    limit = f"≤ {LEASE_S + BEYOND_S:g} s (lease {LEASE_S:g} s + {BEYOND_S:g} s)"
    return [Row("a killed worker’s parts in other hands", f"{recovered:.1f} s", limit, holds, said)]


async def _recovered(bridge: Host, mine: str) -> float:
    """Return the seconds until each part that holders like these have is another's, or done by one."""
    began = perf_counter()
    held = await bridge.rooms.db.read(
        lambda c: [row[0] for row in c.execute(f"SELECT id FROM tasks WHERE holder GLOB '{mine}'")]
    )
    assert held
    among = f"id IN ({', '.join(map(str, held))})"
    away = f"{among} AND state = 'converted' AND (holder IS NULL OR holder GLOB '{mine}')"
    while await _number(bridge, f"SELECT count(*) FROM tasks WHERE {away}"):
        assert perf_counter() - began < 60
        await asyncio.sleep(0.02)
    return perf_counter() - began
