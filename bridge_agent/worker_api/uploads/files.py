"""The files of uploads: received aside, moved into place whole, removed with their job."""

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path

from bridge_agent.base.files import private_folder, sync_folder
from bridge_agent.base.threads import in_thread
from bridge_agent.store.database import StoreFull
from bridge_agent.worker_api.uploads.refusals import TooLarge

CHUNK = 1 << 20
"""Bytes that are gathered before the disk is asked to take them."""
_INCOMING = "incoming"
_PARTS = "parts"
_SHARDS = "shards"
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


class Growing:
    """A file that is being written, with its checksum and size so far; to be used in threads."""

    def __init__(self, path: Path) -> None:
        """Begin a file, its folder too; raises StoreFull, OSError."""
        self._digest = hashlib.sha256()
        self.size = 0
        with _told():
            private_folder(path.parent)
            self._file = path.open("xb")

    def write(self, piece: bytes) -> None:
        """Take more bytes; raises StoreFull, OSError."""
        self._digest.update(piece)
        self.size += len(piece)
        with _told():
            self._file.write(piece)

    @property
    def sha256(self) -> str:
        """The checksum in hexadecimal."""
        return self._digest.hexdigest()

    def end(self) -> None:
        """Make it durable; raises StoreFull, OSError."""
        with _told(), self._file:
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of it, whatever became of it."""
        with contextlib.suppress(OSError):
            self._file.close()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFull from error
        raise


class Files:
    """A folder with one folder a job; what workers hand in for parts of the pipeline's lies in one more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, job_id: str | None, artifact_id: str) -> Path:
        """Return where an artifact lies."""
        return self._folder / (job_id or _PARTS) / artifact_id

    def shards(self, job_id: str) -> Path:
        """Return where all shards of a job lie, one after the other."""
        return self._folder / job_id / _SHARDS

    @contextlib.asynccontextmanager
    async def receiving(self, name: str) -> AsyncIterator[Path]:
        """Give a folder aside to receive files in, which is gone afterwards unless it was moved away."""
        aside = self._folder / _INCOMING / name
        await in_thread(private_folder, aside)
        try:
            yield aside
        finally:
            await in_thread(shutil.rmtree, aside, True)

    @contextlib.asynccontextmanager
    async def receiving_one(self, name: str) -> AsyncIterator[Path]:
        """Give a place aside for one file to be received at; it is removed unless it was moved away."""
        aside = self._folder / _INCOMING / name
        try:
            yield aside
        finally:
            if aside.exists():
                await in_thread(aside.unlink, missing_ok=True)

    def settle_job(self, aside: Path, job_id: str) -> None:
        """Move what was received of an upload to where a job's files are, durably; to be used in threads."""
        aside.replace(self._folder / job_id)
        sync_folder(self._folder)

    def settle(self, received: Path, job_id: str | None, artifact_id: str) -> None:
        """Move one received file to where it belongs, durably; runs inside a unit, on the writer's thread."""
        place = self.place(job_id, artifact_id)
        private_folder(place.parent)
        received.replace(place)
        sync_folder(place.parent)

    async def remove_job(self, job_id: str) -> None:
        """Remove the files of a job."""
        await in_thread(shutil.rmtree, self._folder / job_id, True)

    async def remove_parts(self, artifact_ids: Collection[str]) -> None:
        """Remove what was handed in for parts."""
        await in_thread(_remove, [self.place(None, id_) for id_ in artifact_ids])

    async def tidy(self, job_ids: Collection[str], part_artifacts: Collection[str]) -> None:
        """Remove what is half received, and all that no row names any more."""
        await in_thread(_tidy, self._folder, {*job_ids, _PARTS}, set(part_artifacts))


async def receive(path: Path, pieces: AsyncIterator[bytes], most: int) -> tuple[str, int]:
    """Write what comes into a file; return its checksum and size. Raises TooLarge, StoreFull, OSError."""
    gathering = gathered(pieces)
    first = await anext(gathering, b"")
    if len(first) > most:
        raise TooLarge
    if len(first) < CHUNK:
        # That was all, as with nearly everything that workers hand in: one call does it.
        return await in_thread(_write, path, first)
    growing = await in_thread(Growing, path)
    try:
        await in_thread(growing.write, first)
        async for piece in gathering:
            if growing.size + len(piece) > most:
                raise TooLarge
            await in_thread(growing.write, piece)
        await in_thread(growing.end)
    finally:
        growing.close()
    return growing.sha256, growing.size


async def gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same bytes in pieces worth a call into a thread: of CHUNK or more, but the last."""
    waiting = bytearray()
    async for piece in pieces:
        waiting += piece
        if len(waiting) >= CHUNK:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


def _write(path: Path, content: bytes) -> tuple[str, int]:
    growing = Growing(path)
    try:
        growing.write(content)
        growing.end()
    finally:
        growing.close()
    return growing.sha256, growing.size


async def following(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a piece that was taken from the others, then those."""
    yield first
    async for piece in rest:
        yield piece


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _tidy(folder: Path, folders: set[str], part_artifacts: set[str]) -> None:
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.name not in folders:
            shutil.rmtree(entry, ignore_errors=True)
    parts = folder / _PARTS
    _remove([path for path in (parts.iterdir() if parts.is_dir() else ()) if path.name not in part_artifacts])
