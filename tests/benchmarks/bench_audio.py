"""Decode and plan of a ten-hour book: processor seconds an hour, and the decoder child's peak memory.

The book is the demo's, encoded once as people have it (44.1 kHz stereo, 64 kbit/s), its packets repeated. The
floor is the library's own packet loop, which resamples and throws away: no damage, pauses, hashes.
Processor time is compared: the child has idle priority, its wall time says what else this machine did.
"""

import asyncio
import contextlib
import subprocess
import sys
import tempfile
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
MOST_SECONDS_AN_HOUR = 8.0
MOST_RATIO = 1.6
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
    found, work, peak, wall = await _watched(decoder, path)
    began = perf_counter()
    settings = Settings(language=None, model="m", quality="balanced", word_timestamps=True, prompt="")
    parts = len(plan.make(Survey(files=(found,), decoder=name), settings).parts)
    planned = perf_counter() - began
    await decoder.stop()
    assert found.problem is None, found.sentence
    assert abs(found.samples / 16_000 - hours * 3600) < 120, found.samples
    floor = _floor(path)
    each, kind = (work + planned) / hours, path.suffix.lstrip(".")
    return [
        Row(
            f"decode and plan of {hours:g} h, {kind}",
            f"{each:.1f} s an hour",
            f"≤ {MOST_SECONDS_AN_HOUR:g} s",
            each <= MOST_SECONDS_AN_HOUR,
            f"{3600 / each:.0f} times as fast as it plays, {wall:.0f} s on this machine as busy as it was; "
            f"{parts} parts, planned in {planned * 1e3:.0f} ms",
        ),
        Row(
            f"decode and plan, {kind}, against the library's bare decode loop",
            f"{work / floor:.2f}",
            f"≤ {MOST_RATIO:g}",
            work / floor <= MOST_RATIO,
            f"{work:.0f} s against {floor:.0f} s",
        ),
        Row(
            f"peak memory of the decoder's process, {hours:g} h {kind}",
            f"{peak:.0f} MiB",
            f"≤ {MOST_MIB:g} MiB",
            peak <= MOST_MIB,
        ),
    ]


async def _watched(decoder: Decoder, path: Path) -> tuple[FileSurvey, float, float, float]:
    """Survey a file; return it, its processor seconds, the child's peak in MiB, its seconds by the clock."""
    (child,) = psutil.Process().children()
    times, began = child.cpu_times(), perf_counter()
    found = await decoder.survey(path, path.name)
    wall, after = perf_counter() - began, child.cpu_times()
    work = after.user + after.system - times.user - times.system
    return found, work, _peak(child), wall


def _peak(child: psutil.Process) -> float:
    """Return the most memory a process ever had, in MiB; what it has now where the system keeps no record."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    return float(child.memory_info().rss) / (1 << 20)


def _floor(path: Path) -> float:
    """Return the processor seconds of the library's own loop, in a process of its own."""
    script = (
        "import av, sys\n"
        "with av.open(sys.argv[1]) as book:\n"
        "    shape = av.AudioResampler('s16', 'mono', 16000)\n"
        "    for packet in book.demux(book.streams.audio[0]):\n"
        "        for frame in packet.decode():\n"
        "            shape.resample(frame)\n"
        "import psutil\n"
        "print(sum(psutil.Process().cpu_times()[:2]))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True
    )
    return float(said.stdout)
