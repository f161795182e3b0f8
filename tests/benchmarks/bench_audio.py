"""Decode and plan of a ten-hour book: seconds a book hour, and the decoder child's peak memory.

The book is the demo's, encoded once as people have it (44.1 kHz stereo, 64 kbit/s), its packets repeated. The
floor is the library's own packet loop, which resamples and throws away: it has no damage, pauses or hashes.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import psutil

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.audio.decoder import Decoder
from bridge_agent.transcription.model import FileSurvey, Settings, Survey
from bridge_agent.transcription.planning import plan
from tests.benchmarks.table import Row

DEMO = Path(__file__).parents[2] / "bridge_agent/demo_library/Aesop/Three Fables/Three Fables.m4b"
HOURS = 10.0
MOST_MIB = 150.0
MOST_SECONDS_AN_HOUR = 12.0
MOST_RATIO = 2.0
KINDS = (("ten hours.m4b", "aac"), ("ten hours.mp3", "libmp3lame"))


def run(hours: float = HOURS) -> list[Row]:
    """Measure an m4b and an mp3."""
    with tempfile.TemporaryDirectory() as folder:
        rows: list[Row] = []
        for name, codec in KINDS:
            path = long_book(Path(folder) / name, codec, hours)
            rows += asyncio.run(_measured(path, hours))
        return rows


def long_book(path: Path, codec: str, hours: float) -> Path:
    """Write a book of that many hours by repeating encoded packets of the demo's first two minutes."""
    # In a process of its own: encoding must not count as this one's memory.
    script = "import sys; from tests.benchmarks import bench_audio as b; b.write_long(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", script, str(path), codec, str(hours)], check=True)
    return path


def write_long(path: str, codec: str, hours: str) -> None:
    """Write the book; runs in a process of its own."""
    import av

    with av.open(str(DEMO)) as book, av.open(path, "w", format="mp3" if codec != "aac" else "mp4") as out:
        stream = out.add_stream(codec, rate=44_100, layout="stereo")
        stream.bit_rate = 64_000
        context = stream.codec_context
        context.open(strict=False)
        shape = av.AudioResampler(context.format, "stereo", 44_100, context.frame_size)
        packets = []
        for frame in book.decode(audio=0):
            frame.pts = None
            for shaped in shape.resample(frame):
                packets += [(bytes(packet), packet.duration) for packet in stream.encode(shaped)]
        place, end = 0, float(hours) * 3600 * 44_100
        while place < end:
            for raw, duration in packets:
                packet = av.Packet(raw)
                packet.pts = packet.dts = place
                packet.time_base, packet.duration, packet.stream = context.time_base, duration, stream
                out.mux(packet)
                place += duration


async def _measured(path: Path, hours: float) -> list[Row]:
    tasks = Tasks("benchmark")
    decoder = Decoder(SystemClock(), tasks)
    name = await decoder.name()
    found, seconds, peak = await _watched(decoder, path)
    began = perf_counter()
    settings = Settings(language=None, model="m", quality="balanced", word_timestamps=True, prompt="")
    parts = len(plan.make(Survey(files=(found,), decoder=name), settings).parts)
    planned = perf_counter() - began
    await decoder.stop()
    assert found.problem is None, found.sentence
    assert abs(found.samples / 16_000 - hours * 3600) < 120, found.samples
    floor = _floor(path)
    each = (seconds + planned) / hours
    kind = path.suffix.lstrip(".")
    return [
        Row(
            f"decode and plan of {hours:g} h, {kind}",
            f"{each:.1f} s an hour",
            f"≤ {MOST_SECONDS_AN_HOUR:g} s",
            each <= MOST_SECONDS_AN_HOUR,
            f"{3600 / each:.0f} times as fast as it plays; {parts} parts, planned in {planned * 1e3:.0f} ms",
        ),
        Row(
            f"decode and plan, {kind}, against the library's bare decode loop",
            f"{seconds / floor:.2f}",
            f"≤ {MOST_RATIO:g}",
            seconds / floor <= MOST_RATIO,
            f"{seconds:.0f} s against {floor:.0f} s",
        ),
        Row(
            f"peak memory of the decoder's process, {hours:g} h {kind}",
            f"{peak:.0f} MiB",
            f"≤ {MOST_MIB:g} MiB",
            peak <= MOST_MIB,
        ),
    ]


async def _watched(decoder: Decoder, path: Path) -> tuple[FileSurvey, float, float]:
    """Survey a file; return it, the seconds it took, and the child's peak in MiB."""
    peak = 0

    def look(_samples: int) -> None:
        nonlocal peak
        children = psutil.Process().children()
        peak = max([peak, *(child.memory_info().rss for child in children)])

    began = perf_counter()
    found = await decoder.survey(path, path.name, look)
    return found, perf_counter() - began, peak / (1 << 20)


def _floor(path: Path) -> float:
    script = (
        "import av, sys\n"
        "with av.open(sys.argv[1]) as book:\n"
        "    shape = av.AudioResampler('s16', 'mono', 16000)\n"
        "    for packet in book.demux(book.streams.audio[0]):\n"
        "        for frame in packet.decode():\n"
        "            shape.resample(frame)\n"
    )
    return _timed(lambda: subprocess.run([sys.executable, "-c", script, str(path)], check=True))


def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began
