"""Engine children: two against one, the processor after a cancel, the work lost to a kill.

All with Whisper's base model.
"""

import asyncio
import contextlib
import os
import random
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from time import perf_counter, sleep

import psutil

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.pool import EnginePool
from bridge_agent.transcription.engines.wishes import Wishes
from bridge_agent.transcription.models.models import Models
from tests.benchmarks import speech_book, speech_child
from tests.benchmarks.meter import Cost, Meter, ratio
from tests.benchmarks.speech_child import DIARY, Wish
from tests.benchmarks.table import Row
from tests.fakes import spoken, whisper_base

PARTS = 4
LEAST = {"accurate": 1.9, "balanced": 1.7}
CANCELS = 3
MOST_CANCEL_S = 1.0
KILLS = 3
_STILL_S = 0.5
_LOOK_S = 0.01
_TICK = 0.011
"""The system counts processor time in hundredths of a second."""


def run() -> list[Row]:
    """Measure all three."""
    model = str(whisper_base.model_folder())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = asyncio.run(_two_against_one(folder, model))
        rows.append(asyncio.run(_cancelled(folder, model)))
        rows += _killed(folder, model)
        return rows


@contextlib.asynccontextmanager
async def pool_of(folder: Path, model: str, processes: int) -> AsyncIterator[EnginePool]:
    """Have a pool of so many children."""
    tasks = Tasks("benchmark")
    wishes = Wishes(model=model, processes=processes)
    pool = EnginePool(
        wishes, Models(folder / "models", tasks), SystemClock(), tasks, notes=folder / "engine.json"
    )
    try:
        yield pool
    finally:
        await pool.stop()
        await tasks.cancel()


async def _two_against_one(folder: Path, model: str) -> list[Row]:
    pcm = b"".join(spoken.demo_pcm(name) for name in speech_book.WARM)
    rows = []
    for quality, least in LEAST.items():
        one = await _heard(folder, model, quality, pcm, processes=1)
        two = await _heard(folder, model, quality, pcm, processes=2)
        found, how = ratio(one, two, other_lanes=2)
        note = f"{how}; one {one.said()}; two {two.said()}; {os.cpu_count()} processors"
        what = f"throughput of two children against one, {quality}"
        rows.append(Row(what, f"{found:.2f}", f"≥ {least:g}", found >= least, note))
    return rows


async def _heard(folder: Path, model: str, quality: str, pcm: bytes, processes: int) -> Cost:
    """Hear the same part some times with so many children, loaded before."""
    context = Context(language="en", quality=quality)  # type: ignore[arg-type]
    async with pool_of(folder, model, processes) as pool:
        await asyncio.gather(*(pool.transcribe(pcm[: 2 * 16_000 * 10], context) for _ in range(processes)))
        with Meter() as meter:
            await asyncio.gather(*(pool.transcribe(pcm, context) for _ in range(PARTS)))
    return meter.cost


async def _cancelled(folder: Path, model: str) -> Row:
    """Cancel parts in the middle; the figure is the longest until their children's processors stood still."""
    pcm, took = spoken.demo_pcm(speech_book.FABLES), []
    chance = random.Random(5)
    async with pool_of(folder, model, 2) as pool:
        await pool.prepare()
        for quality in ("balanced", "accurate") * CANCELS:
            context = Context(language="en", quality=quality)  # type: ignore[arg-type]
            works = [asyncio.ensure_future(pool.transcribe(pcm, context)) for _ in range(2)]
            await _busy(pool)
            await asyncio.sleep(chance.uniform(0.2, 2.0))
            children = [psutil.Process(each["pid"]) for each in pool.view()["children"]]
            began = perf_counter()
            for work in works:
                work.cancel()
            idle = asyncio.ensure_future(_idle(children, began))
            await asyncio.gather(*works, return_exceptions=True)
            took.append(await idle)
    worst, times = max(took), ", ".join(f"{each:.2f}" for each in sorted(took))
    what = "cancel of two parts to idle processor, worst"
    return Row(what, f"{worst:.2f} s", f"≤ {MOST_CANCEL_S:g} s", worst <= MOST_CANCEL_S, f"all: {times}")


async def _busy(pool: EnginePool) -> None:
    """Wait until two children hear."""
    async with asyncio.timeout(120):
        while sum(each["state"] == "busy" and bool(each["device"]) for each in pool.view()["children"]) < 2:
            await asyncio.sleep(_LOOK_S)
        # Loading counts as busy too: whoever hears has loaded.
        await asyncio.sleep(3.0)


async def _idle(children: list[psutil.Process], began: float) -> float:
    """Return when the children's processor time last moved, counted from `began`."""
    used, moved = _used(children), began
    while perf_counter() - moved < _STILL_S:
        await asyncio.sleep(_LOOK_S)
        now = _used(children)
        # A pulse in a second takes less than a tick of the clock; work takes all of them.
        if now > used + _TICK:
            used, moved = now, perf_counter()
    return moved - began


def _used(children: list[psutil.Process]) -> float:
    total = 0.0
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(child.cpu_times()[:2])
    return total


def _killed(folder: Path, model: str) -> list[Row]:
    """Kill the process of a run with two children at random seconds; count the parts that are begun anew."""
    place = folder / "killed"
    place.mkdir()
    book, chance = speech_book.fables(folder, 6), random.Random(7)
    wish = Wish([book.file], model, str(place), processes=2)
    lost: list[tuple[int, float]] = []
    for number in range(KILLS):
        before = len(_lines(place))
        process = subprocess.Popen(
            speech_child.command("pipeline", wish), stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[2]
        )
        # The first falls on the first parts, the others when some are finished.
        awaited = "ended" if number else "began"
        while awaited not in " ".join(_lines(place)[before:]) and process.poll() is None:
            sleep(_LOOK_S)
        sleep(chance.uniform(0.3, 5.0))
        process.kill()
        process.wait()
        lost.append(_under_way(_lines(place)[before:]))
    ended = speech_child.run("pipeline", wish)
    twice = [number for number, count in _count(_lines(place), "ended").items() if count > 1]
    parts, seconds = max(each[0] for each in lost), max(each[1] for each in lost)
    note = f"{KILLS} kills: " + ", ".join(f"{count} parts of {audio:.0f} s" for count, audio in lost)
    return [
        Row("parts begun anew after a kill -9, two children", str(parts), "≤ 2", parts <= 2, note),
        Row(
            "seconds of audio done twice after a kill -9, at most",
            f"{seconds:.0f} s",
            "≤ 480 s",
            seconds <= 480,
            "what was under way, at most one part of 240 s a child",
        ),
        Row(
            "finished parts heard again after kills",
            str(len(twice)),
            "0",
            not twice and ended.reused >= 0,
            f"{len(ended.parts)} parts, {ended.reused} of them used at the last start",
        ),
    ]


def _lines(place: Path) -> list[str]:
    diary = place / DIARY
    return diary.read_text().splitlines() if diary.exists() else []


def _count(lines: list[str], verb: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in lines:
        said, number, _ = line.split()
        if said == verb:
            found[number] = found.get(number, 0) + 1
    return found


def _under_way(lines: list[str]) -> tuple[int, float]:
    """Return how many parts had begun and not ended, and how many seconds of audio they hold."""
    open_parts: dict[str, float] = {}
    for line in lines:
        verb, number, seconds = line.split()
        if verb == "began":
            open_parts[number] = float(seconds)
        else:
            open_parts.pop(number, None)
    return len(open_parts), sum(open_parts.values())
