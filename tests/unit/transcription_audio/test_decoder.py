"""The facade over real children: results, cancels, crashes, dead drives."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from time import perf_counter

import psutil
import pytest

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.audio.decoder import Decoder
from bridge_agent.transcription.audio.errors import AudioAway, DecoderDied, DecoderUnavailable, NoRoom
from bridge_agent.transcription.audio.process import Limits
from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.planning import plan
from tests.benchmarks.bench_audio import write_long
from tests.fakes import odd_audio as odd
from tests.unit.transcription_planning.surveys import SETTINGS

pytestmark = pytest.mark.slow

# A look takes longer than the pause between two pulses, as it does in earnest.
LIMITS = Limits(look=0.8, hang=2.0, idle=0.5)


@pytest.fixture
async def tasks() -> Tasks:
    return Tasks("test")


@pytest.fixture
async def decoder(tasks) -> AsyncIterator[Decoder]:
    made = Decoder(SystemClock(), tasks, LIMITS)
    yield made
    await made.stop()
    assert await tasks.drain(5)
    assert children() == []


@pytest.fixture(scope="module")
def long_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("long") / "long.mp3"
    write_long(str(path), "libmp3lame", "3")
    return path


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


async def working(decoder: Decoder, path: Path) -> "tuple[asyncio.Task, psutil.Process]":
    """Start a survey; return it and its child once that is at work."""
    moved = asyncio.Event()
    task = asyncio.ensure_future(decoder.survey(path, path.name, lambda n: moved.set() if n else None))
    async with asyncio.timeout(30):
        await moved.wait()
    (child,) = children()
    return task, child


async def test_a_book_is_surveyed_planned_cut_and_read_back(decoder, tmp_path):
    files = [
        odd.mp3(tmp_path / "1.mp3", 30),
        odd.sealed(tmp_path / "2.m4b", 2),
        odd.m4a(tmp_path / "3.m4a", 50),
    ]
    done: list[int] = []
    survey = await decoder.survey_book([(f, f"Book/{f.name}") for f in files], done.append)
    assert [f.problem for f in survey.files] == [None, "drm", None]
    assert [f.path for f in survey.files] == ["Book/1.mp3", "Book/2.m4b", "Book/3.m4a"]
    assert survey.decoder == await decoder.name()
    assert done == sorted(done)
    assert done[-1] == sum(f.samples for f in survey.files)
    made = plan.make(survey, SETTINGS)
    for index in (0, 2):
        parts = [p for p in made.parts if p.file == index]
        async for part, cut in decoder.cut(files[index], parts, lambda p: tmp_path / f"{p.number}.flac"):
            assert cut.path == tmp_path / f"{part.number}.flac"
            assert len(await decoder.pcm(cut.path)) == 2 * part.samples
    assert await decoder.stamp(files[0]) == survey.files[0].stamp


async def test_a_cut_runs_no_further_ahead_than_allowed_and_stops_when_closed(decoder, tmp_path):
    path = tmp_path / "a.m4b"
    write_long(str(path), "aac", "0.3")
    made = plan.make(await decoder.survey_book([(path, "a.m4b")]), SETTINGS)
    assert len(made.parts) >= 5
    out = tmp_path / "out"
    cutting = decoder.cut(path, made.parts, lambda p: out / f"{p.number}.flac", ahead=1)
    async with contextlib.aclosing(cutting):
        await anext(cutting)
        async with asyncio.timeout(30):
            # How soon the one ahead is there is the machine's business, that there are no more is ours.
            while len(list(out.glob("*.flac"))) < 2:
                await asyncio.sleep(0.05)
        await asyncio.sleep(1.5)
        assert len(list(out.iterdir())) == 2
    assert children() == []


async def test_a_cancelled_survey_frees_the_processor_within_a_second(decoder, long_file):
    task, child = await working(decoder, long_file)
    began = perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not child.is_running()
    assert perf_counter() - began < 1


@pytest.mark.parametrize(("name", "said"), [("SIGSEGV", "makes the audio decoder crash"),
                                            ("SIGABRT", "makes the audio decoder crash")])  # fmt: skip
async def test_a_native_crash_costs_the_file_it_happened_on_alone(decoder, long_file, tmp_path, name, said):
    task, child = await working(decoder, long_file)
    child.send_signal(getattr(signal, name))
    found = await task
    assert (found.samples, found.problem) == (0, "unreadable")
    assert said in found.sentence
    assert (await decoder.survey(odd.mp3(tmp_path / "b.mp3", 2), "b.mp3")).samples == 2 * RATE


async def test_a_decoder_that_hangs_is_killed_and_its_file_named(decoder, long_file):
    task, child = await working(decoder, long_file)
    child.suspend()
    found = await task
    assert found.problem == "unreadable"
    assert "keeps the audio decoder busy without end" in found.sentence
    assert not child.is_running()


async def test_a_decoder_killed_from_outside_is_not_the_files_fault(decoder, long_file):
    task, child = await working(decoder, long_file)
    child.kill()
    with pytest.raises(DecoderDied):
        await task


@pytest.mark.skipif(sys.platform == "win32", reason="NO FIFO on Windows")
async def test_a_drive_that_never_answers_is_not_the_files_fault(decoder, tmp_path):
    os.mkfifo(tmp_path / "dead.mp3")
    with pytest.raises(AudioAway, match="check that"):
        await decoder.survey(tmp_path / "dead.mp3", "dead.mp3")


async def test_a_missing_file_is_away_and_no_unreadable_one(decoder, tmp_path):
    with pytest.raises(AudioAway, match=r"“gone\.mp3” can't be read"):
        await decoder.survey(tmp_path / "gone.mp3", "Book/gone.mp3")
    with pytest.raises(AudioAway):
        await decoder.stamp(tmp_path / "gone.mp3")


async def test_a_full_disk_ends_the_cut_with_its_sentence(decoder, tmp_path):
    path = odd.mp3(tmp_path / "a.mp3", 5)
    made = plan.make(await decoder.survey_book([(path, "a.mp3")]), SETTINGS)
    (tmp_path / "full").write_bytes(b"")
    with pytest.raises(NoRoom):
        async for _ in decoder.cut(path, made.parts, lambda p: tmp_path / "full" / "x.flac"):
            pass


async def test_an_idle_child_ends_and_gives_its_memory_back(decoder, tmp_path):
    await decoder.survey(odd.mp3(tmp_path / "a.mp3", 1), "a.mp3")
    assert len(children()) == 1
    for _ in range(100):
        if not children():
            break
        await asyncio.sleep(0.1)
    assert children() == []


async def test_without_the_decoders_library_the_sentence_has_the_command(decoder, tmp_path, monkeypatch):
    (tmp_path / "av.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(
        DecoderUnavailable, match=r"install it with pip install 'audiobook-bridge-agent\[speech\]'"
    ):
        await decoder.name()


async def test_two_surveys_run_at_once_in_children_of_their_own(decoder, tmp_path):
    files = [odd.mp3(tmp_path / f"{n}.mp3", n) for n in (1, 2)]
    found = await asyncio.gather(*(decoder.survey(f, f.name) for f in files))
    assert [f.samples for f in found] == [RATE, 2 * RATE]


@pytest.mark.skipif(sys.platform == "win32", reason="NO BYTES for names on Windows")
async def test_a_name_that_is_no_text_is_read(decoder, tmp_path):
    path = odd.mp3(tmp_path / "a.mp3", 1).rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.mp3"))
    found = await decoder.survey(path, "plain.mp3")
    assert (found.path, found.samples) == ("plain.mp3", RATE)


def test_the_bridge_itself_loads_neither_decoder_nor_numpy():
    script = (
        "import sys\n"
        "import bridge_agent.transcription.audio.decoder, bridge_agent.transcription.planning.plan\n"
        "sys.exit(bool({'av', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
