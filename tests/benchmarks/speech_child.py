"""Books transcribed by the pipeline or by the bare library, measured, in a process of their own.

`python -m tests.benchmarks.speech_child pipeline|bare JSON` prints JSON.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.manners import step_back
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription import assembly
from bridge_agent.transcription.model import RATE, Settings
from bridge_agent.transcription.pipeline import opening
from bridge_agent.transcription.pipeline.executor import PartWork, WordsSoFar
from bridge_agent.transcription.pipeline.local import LocalExecutor
from bridge_agent.transcription.pipeline.opening import Transcription
from bridge_agent.transcription.pipeline.order import Order, SourceFile
from bridge_agent.transcription.pipeline.recordings import Asker
from tests.benchmarks.meter import Cost, Meter

DIARY = "diary.txt"


@dataclass(frozen=True)
class Wish:
    """What to transcribe and how. `parts` (samples) cut it for the bare library; none: the whole file."""

    files: list[str]
    model: str
    folder: str = ""
    quality: str = "balanced"
    processes: int = 1
    warm: list[str] = field(default_factory=list)
    parts: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """What came of it; `parts` in samples of their files."""

    text: str
    cost: Cost
    parts: list[tuple[int, int]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    reused: int = 0


def run(mode: str, wish: Wish) -> Outcome:
    """Run a child, and return what it says."""
    # One thread, as the Bridge gives its children.
    one = {**os.environ, "OMP_NUM_THREADS": "1"} if mode == "bare" else None
    ended = subprocess.run(command(mode, wish), check=True, stdout=subprocess.PIPE, cwd=_root(), env=one)
    found = json.loads(ended.stdout.decode().splitlines()[-1])
    return Outcome(**{**found, "cost": Cost(**found["cost"])})


def command(mode: str, wish: Wish) -> list[str]:
    """Return how a child is started."""
    return [sys.executable, "-m", "tests.benchmarks.speech_child", mode, json.dumps(asdict(wish))]


def _root() -> Path:
    return Path(__file__).parents[2]


def order(files: list[str], quality: str) -> Order:
    """Return an order of a book in English."""
    settings = Settings(language="en", model="", quality=quality, word_timestamps=True, prompt="")
    return Order(
        asker=Asker("none", "/".join(files)),
        title="The Book",
        author="",
        files=tuple(SourceFile(path=Path(file), relative=Path(file).name) for file in files),
        settings=settings,
    )


async def book(here: Transcription, wanted: Order) -> dict[str, Any]:
    """Transcribe a book to its end."""
    recording = await here.pipeline.begin(wanted)
    await here.pipeline.run(recording)
    results = await here.pipeline.results(recording)
    parts = {part.result.number: part.result for part in results.parts}
    transcript = assembly.transcript(results.plan, parts, wanted.title, wanted.author)
    await here.pipeline.close(recording)
    return {
        "text": "".join(segment.text for part in results.parts for segment in part.result.segments),
        "parts": [(part.start, part.end) for part in results.plan.parts],
        "flags": [flag for part in results.parts for flag in part.result.flags],
        "reused": results.reused,
        "segments": len(transcript.segments),
    }


class Diary(LocalExecutor):
    """Notes in a file which parts are begun and ended, for whoever kills this process."""

    folder = Path()
    began: Callable[[], None] = staticmethod(lambda: None)

    async def run(self, work: PartWork, heard: WordsSoFar):
        type(self).began()
        self.note(f"began {work.number} {work.samples / RATE:.2f}")
        found = await super().run(work, heard)
        self.note(f"ended {work.number} {work.samples / RATE:.2f}")
        return found

    def note(self, line: str) -> None:
        with (self.folder / DIARY).open("a") as out:
            out.write(f"{line}\n")
            out.flush()
            os.fsync(out.fileno())


async def pipeline(wish: Wish) -> dict[str, Any]:
    """Run the whole pipeline; a book before it, if wished, has the children loaded."""
    folder = Path(wish.folder)
    Diary.folder = folder
    opening.LocalExecutor = Diary  # type: ignore[misc]
    settings = BridgeSettings(
        data_dir=folder / "data", speech_model=wish.model, speech_processes=wish.processes
    )
    settings.data_dir.mkdir(exist_ok=True)
    tasks = Tasks("child")
    here = await opening.open_transcription(settings, SystemClock(), tasks)
    try:
        if wish.warm:
            await book(here, order(wish.warm, wish.quality))
        # Once the first part is heard, the next ones are cut beside.
        with Meter(beside="audio.child") as meter:
            Diary.began = staticmethod(meter.mark)
            found = await book(here, order(wish.files, wish.quality))
    finally:
        await here.close()
        await tasks.cancel()
    del found["segments"]
    return {**found, "cost": asdict(meter.cost)}


def bare(wish: Wish) -> dict[str, Any]:
    """Hear with the library alone, its model loaded before: a file in parts, or whole files as they come."""
    import faster_whisper
    import numpy as np

    from tests.fakes.spoken import pcm_of

    step_back()
    model = faster_whisper.WhisperModel(wish.model, device="cpu", compute_type="int8", cpu_threads=1)
    batched = faster_whisper.BatchedInferencePipeline(model)

    def hear(audio: Any) -> str:
        shared: dict[str, Any] = {
            "language": "en",
            "beam_size": 5,
            "word_timestamps": True,
            "temperature": [0.0, 0.2, 0.4],
            "vad_filter": True,
        }
        if wish.quality == "accurate":
            segments, _ = model.transcribe(audio, condition_on_previous_text=False, **shared)
        else:
            segments, _ = batched.transcribe(audio, batch_size=4, **shared)
        return "".join(segment.text for segment in segments)

    pieces: list[Any] = list(wish.files)
    if wish.parts:
        (file,) = wish.files
        pcm = np.frombuffer(pcm_of(Path(file)), "<i2").astype(np.float32) / 32768.0
        pieces = [pcm[start:end] for start, end in wish.parts]
    # The voice detector and the kernels are loaded by the first part that is heard.
    hear(str(Path(wish.warm[0])))
    with Meter() as meter:
        text = "".join(hear(piece) for piece in pieces)
    return {"text": text, "cost": asdict(meter.cost)}


if __name__ == "__main__":
    wanted = Wish(**json.loads(sys.argv[2]))
    print(json.dumps(bare(wanted) if sys.argv[1] == "bare" else asyncio.run(pipeline(wanted))))
