"""Books by the whole pipeline, by the bare library, by the peer’s command: speed, words heard wrong.

Everything hears with Whisper's base model, int8, beam 5, one thread, words with their times. How speeds are
compared on a machine that others use too, `meter.ratio` says.
BRIDGE_BENCH_SPEECH_TIMES: how often the short books are repeated into long ones (6).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks import meter, peer, speech_book, speech_child
from tests.benchmarks.meter import Cost, Meter
from tests.benchmarks.speech_book import Book
from tests.benchmarks.speech_child import Outcome, Wish
from tests.benchmarks.table import Row
from tests.fakes import spoken, whisper_base

TIMES = int(os.environ.get("BRIDGE_BENCH_SPEECH_TIMES", "6"))
SAME_PARTS = 0.97
WHOLE_FILE = 0.90
MOST_WRONG = 0.04
APART = 0.005
_BACK = "import os, sys; from bridge_agent.base.manners import step_back; step_back(); "
_INSTEAD = _BACK + "os.execv(sys.argv[1], sys.argv[1:])"


def run() -> list[Row]:
    """Measure both qualities, the words heard wrong, and the peer."""
    model = str(whisper_base.model_folder())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fables, samples = speech_book.fables(folder, TIMES), speech_book.samples(folder, max(1, TIMES // 3))
        rows = against_bare(folder, model, "demo voices", fables, "balanced")
        if samples is None:
            print("NO SPEECH SAMPLES: set BRIDGE_SPEECH_SAMPLES to measure human voices", file=sys.stderr)
            rows.append(Row("human voices", "SKIPPED", "samples", True, "BRIDGE_SPEECH_SAMPLES is not set"))
        else:
            rows += against_bare(folder, model, "human voices", samples, "accurate")
            rows += on_samples(folder, model)
        rows += demo_texts(folder, model)
        return rows + against_peer(folder, model, fables)


def against_bare(folder: Path, model: str, voices: str, book: Book, quality: str) -> list[Row]:
    """Compare the pipeline's throughput and words with the library's, in the same parts and as a whole."""
    ours = pipeline(folder / quality, model, [book.file], quality)
    wish = Wish([book.file], model, quality=quality, warm=speech_book.warm())
    parts = speech_child.run("bare", Wish(**{**vars(wish), "parts": ours.parts}))
    whole = speech_child.run("bare", wish)
    wrong, wrong_whole = book.errors(ours.text), book.errors(whole.text)
    minutes = sum(end - start for start, end in ours.parts) / 16_000 / 60
    what = f"{quality}, {minutes:.0f} min of {voices} in {len(ours.parts)} parts"
    rows = [
        throughput(
            f"throughput against the bare library, same parts: {what}", ours.cost, parts.cost, SAME_PARTS
        ),
        throughput(
            f"throughput against the bare library, whole file: {what}", ours.cost, whole.cost, WHOLE_FILE
        ),
    ]
    said = f"{wrong:.1%} in parts, {wrong_whole:.1%} whole; heard again: {ours.flags.count('rerun')} parts"
    return [
        *rows,
        Row(
            f"words heard wrong, in parts less whole file: {what}",
            f"{100 * (wrong - wrong_whole):+.2f} points",
            f"≤ {100 * APART:g} points",
            wrong - wrong_whole <= APART,
            said,
        ),
    ]


def pipeline(folder: Path, model: str, files: list[str], quality: str) -> Outcome:
    """Run the pipeline over a book, engines loaded before."""
    folder.mkdir()
    return speech_child.run(
        "pipeline", Wish(files, model, str(folder), quality=quality, warm=speech_book.warm())
    )


def throughput(what: str, ours: Cost, theirs: Cost, limit: float) -> Row:
    """Return a row of our throughput over theirs."""
    found, how = meter.ratio(theirs, ours)
    note = (
        f"{how}; with what ran beside {theirs.cpu / ours.cpu:.2f}; ours {ours.said()}; theirs {theirs.said()}"
    )
    return Row(what, f"{found:.3f}", f"≥ {limit:g}", found >= limit, note)


def demo_texts(folder: Path, model: str) -> list[Row]:
    """Return how many words of the demo's texts are heard wrong."""
    said = "\n".join(spoken.demo_text(name) for name in spoken.FILES)
    files = [speech_book.demo_file(name) for name in spoken.FILES]
    rows = []
    for quality in ("balanced", "accurate"):
        place = folder / f"demo-{quality}"
        place.mkdir()
        found = speech_child.run("pipeline", Wish(files, model, str(place), quality=quality))
        wrong = spoken.errors(said, found.text)
        what = f"words heard wrong, demo texts, {quality}"
        rows.append(Row(what, f"{wrong:.1%}", f"≤ {MOST_WRONG:.0%}", wrong <= MOST_WRONG))
    return rows


def on_samples(folder: Path, model: str) -> list[Row]:
    """Return how many words of human voices are heard wrong, beside the library's own whole-file run."""
    book = speech_book.samples(folder, 1)
    assert book is not None
    wish = Wish([book.file], model, quality="accurate", warm=speech_book.warm())
    alone = book.errors(speech_child.run("bare", wish).text)
    rows = []
    for quality in ("balanced", "accurate"):
        found = pipeline(folder / f"samples-{quality}", model, [book.file], quality)
        wrong, limit = book.errors(found.text), alone + APART
        note = f"the library alone, accurate: {alone:.1%}"
        what = f"words heard wrong, speech samples, {quality}"
        rows.append(Row(what, f"{wrong:.1%}", f"≤ {limit:.1%}", wrong <= limit, note))
    return rows


def against_peer(folder: Path, model: str, book: Book) -> list[Row]:
    """Compare both commands, as a person starts them, on one file."""
    command = peer.command()
    if command is None:
        return [Row("against whisper-ctranslate2", "NOT RUN", "faster", False, "it can't be installed here")]
    ours, heard = bridge_command(folder, model, book)
    wrong, rows = book.errors(heard), []
    for name, more in {
        "as it comes": (),
        "batched": ("--batched", "True", "--batch_size", "4"),
    }.items():
        output = folder / f"peer {name}"
        output.mkdir()
        theirs = measured(peer.words(command, model, book.file, output, *more))
        theirs_wrong = book.errors(peer.text(output))
        time, how = meter.ratio(ours, theirs)
        # In batches without a survey, guards and resuming it is another program: shown, and not promised.
        limit = "≤ 1" if not more else "shown beside"
        note = f"{how}; ours {ours.said()}; theirs {theirs.said()}"
        rows += [
            Row(
                f"our command's time over whisper-ctranslate2's, {name}",
                f"{time:.2f}",
                limit,
                time <= 1 or bool(more),
                note,
            ),
            Row(
                f"words heard wrong by our command and by whisper-ctranslate2, {name}",
                f"{wrong:.2%}",
                f"≤ {theirs_wrong:.2%}",
                wrong <= theirs_wrong,
            ),
        ]
    return rows


def bridge_command(folder: Path, model: str, book: Book) -> tuple[Cost, str]:
    """Run `bridge-agent transcribe` with one engine process; return what it cost and heard."""
    output, data = folder / "ours", folder / "ours-data"
    words = ["transcribe", book.file, "--language", "en", "--output", str(output), "--data-dir", str(data)]
    environ = {"BRIDGE_SPEECH_MODEL": model, "BRIDGE_SPEECH_PROCESSES": "1"}
    cost = measured([sys.executable, "-m", "bridge_agent", *words], **environ)
    text = next(output.rglob("*.txt")).read_text("utf-8")
    # The first lines name the book.
    return cost, text.partition("\n\n")[2]


def measured(words: list[str], **environ: str) -> Cost:
    """Run a command at idle priority, as engines have it."""
    started = subprocess.Popen(
        [sys.executable, "-c", _INSTEAD, *words],
        env={**os.environ, **environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
    )
    with Meter(started.pid) as watched:
        code = started.wait()
    assert code == 0, words
    return watched.cost
