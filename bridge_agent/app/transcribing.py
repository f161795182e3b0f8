"""Transcribing a book without a server: rooms in the data folder, or beside a running Bridge."""

import contextlib
import dataclasses
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bridge_agent.app.local_book import LocalBook
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.files import private_folder
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.jobs.handlers.transcribe import shares
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import FolderLock
from bridge_agent.store.lock import FolderInUse
from bridge_agent.transcription import assembly
from bridge_agent.transcription.assembly.engines import main_device
from bridge_agent.transcription.assembly.result import Result, RunFacts
from bridge_agent.transcription.engines.wishes import Wishes
from bridge_agent.transcription.model import Settings
from bridge_agent.transcription.pipeline.opening import Transcription, open_transcription
from bridge_agent.transcription.pipeline.order import Order
from bridge_agent.transcription.pipeline.recordings import Asker
from bridge_agent.transcription.pipeline.senders import SILENT
from bridge_agent.transcription.transcripts import Kept, Transcripts, open_transcripts

OWN_FOLDER = "command-line"
"""Where the command line works while a Bridge holds the data folder."""

Watch = Callable[[Transcription, str, str, float | None, float | None], None]
"""Called with the rooms, and a step with its message and how much of what is done."""


@dataclass(frozen=True)
class Wanted:
    """What somebody asks for beside the book; an empty model is the setting's."""

    language: str | None = None
    quality: str = "balanced"
    output: Path | None = None

    def settings(self, author: str) -> Settings:
        """Return the settings of the transcription; the author's name is one to listen for."""
        return Settings(
            language=self.language,
            model="",
            quality=self.quality,
            word_timestamps=True,
            prompt="",
            hotwords=(author,) if author else (),
        )


@dataclass(frozen=True)
class Made:
    """What came of it: the result as a job would report it, and where the files are."""

    result: Result
    files: tuple[Path, ...]
    shared: bool
    """Whether a running Bridge was given the transcript too."""

    def wire(self) -> dict[str, Any]:
        """Return it for scripts."""
        told: dict[str, Any] = msgspec.to_builtins(self.result)
        return {**told, "files": [str(path) for path in self.files]}


@dataclass(frozen=True)
class _Rooms:
    transcription: Transcription
    transcripts: Transcripts
    beside: Path | None
    """The transcripts of a running Bridge beside which this works; None in the data folder itself."""


async def transcribe(
    settings: BridgeSettings, clock: Clock, book: LocalBook, wanted: Wanted, watch: Watch
) -> Made:
    """Transcribe a book, or find what was made of it before.

    One that was broken off goes on where it was. Raises BridgeError, OSError for a full disk.
    """
    why = Wishes.of(settings).why_none()
    if why is not None:
        raise BridgeError(why)
    async with _rooms(settings, clock) as rooms:

        def progress(step: str, message: str, done: float | None, total: float | None) -> None:
            watch(rooms.transcription, step, message, done, total)

        order = Order(
            asker=Asker(SILENT, str(book.path)),
            title=book.title,
            author=book.author,
            files=book.files,
            settings=wanted.settings(book.author),
        )
        pipeline = rooms.transcription.pipeline
        key = await pipeline.reuse_key(order, progress)
        kept = await rooms.transcripts.find(key)
        if kept is not None:
            result = await rooms.transcripts.reused(kept, 0, book.path.name)
        else:
            kept, result = await _made(rooms, order, book, key, progress)
        files = await _files(rooms.transcripts, kept)
        shared = await in_thread(_share, files[0].parent, rooms.beside)
        if wanted.output is not None:
            files = await in_thread(_copied, files, wanted.output, kept.title)
        return Made(result, tuple(files), shared)


@contextlib.asynccontextmanager
async def _rooms(settings: BridgeSettings, clock: Clock) -> AsyncIterator[_Rooms]:
    """Open the rooms in the data folder, or in a folder of their own while somebody holds that."""
    async with contextlib.AsyncExitStack() as closing:
        models, beside = settings.data_dir / "models", None
        try:
            lock = _held(settings.data_dir)
        except FolderInUse:
            beside = settings.data_dir / "transcripts"
            settings = dataclasses.replace(settings, data_dir=settings.data_dir / OWN_FOLDER)
            lock = _held(settings.data_dir)
        closing.callback(lock.release)
        tasks = Tasks("transcribe")
        transcripts = await open_transcripts(settings.data_dir, clock)
        closing.push_async_callback(transcripts.close)
        closing.push_async_callback(tasks.cancel)
        rooms = await open_transcription(settings, clock, tasks, models_in=models)
        closing.push_async_callback(rooms.close)
        yield _Rooms(rooms, transcripts, beside)


def _held(folder: Path) -> FolderLock:
    private_folder(folder)
    lock = FolderLock(folder, "bridge")
    lock.acquire()
    return lock


async def _made(
    rooms: _Rooms,
    order: Order,
    book: LocalBook,
    key: str,
    progress: Callable[[str, str, float | None, float | None], None],
) -> tuple[Kept, Result]:
    pipeline = rooms.transcription.pipeline
    recording = await pipeline.begin(order)
    await pipeline.run(recording, progress)
    ended = await pipeline.get(recording)
    if ended is None or ended.state != "done":
        raise BridgeError((ended.error if ended else None) or "The transcription was ended; try again.")
    progress("assemble", "Putting the transcript together", None, None)
    results = await pipeline.results(recording)
    parts = {part.result.number: part.result for part in results.parts}
    transcript = await in_thread(assembly.transcript, results.plan, parts, book.title, book.author)
    facts = RunFacts(
        library_id=0,
        path=book.path.name,
        parts=len(results.plan.parts),
        device=main_device([part.engine for part in parts.values()]),
        seconds_spent=results.seconds_spent,
        reused_parts=results.reused,
        workers=shares(results),
        warnings=results.warnings,
    )
    kept = await rooms.transcripts.keep(transcript, facts, key)
    await pipeline.close(recording)
    return kept, assembly.result(transcript, msgspec.structs.replace(facts, artifacts=kept.artifacts))


async def _files(transcripts: Transcripts, kept: Kept) -> list[Path]:
    found = [await transcripts.artifact(kept.id, artifact.name) for artifact in kept.artifacts]
    return [file.path for file in found if file is not None]


def _share(folder: Path, beside: Path | None) -> bool:
    """Give a running Bridge a copy of a transcript's folder to take in; tell whether it has one."""
    if beside is None:
        return False
    target = private_folder(beside) / folder.name
    if target.exists():
        return True
    aside = beside / f".{folder.name}"
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(folder, aside)
    aside.rename(target)
    return True


def _copied(files: list[Path], folder: Path, title: str) -> list[Path]:
    """Write copies named after the book; raises BridgeError where the folder takes none."""
    plain = "".join(c if c.isprintable() and c not in '\\/:*?"<>|' else " " for c in title)
    stem = " ".join(plain.split()).strip(". ")[:120] or "transcript"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copyfile(file, folder / f"{stem}{file.suffix}")) for file in files]
    except OSError as error:
        raise BridgeError(
            f"The files can’t be written to {folder} ({error.strerror}); choose another folder. "
            f"The transcript itself is kept in {files[0].parent}."
        ) from error
