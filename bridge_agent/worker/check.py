"""The check before the first part: engine, model, device, decoder, disk, and what it found in words."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from bridge_agent.base.threads import files
from bridge_agent.transcription.engines.pool import Prepared
from bridge_agent.worker.errors import Unfit
from bridge_agent.worker.trust import in_clear

_DISK_S = 20.0
_GIB = 1 << 30
_LEAST_FREE = 256 << 20
_LITTLE_FREE = 2 * _GIB

Say = Callable[[str], None]
Progress = Callable[[int, int], None]


class Pool(Protocol):
    """What is asked of the engine pool."""

    @property
    def size(self) -> int:
        """How many parts can be heard at once."""
        ...

    async def prepare(self, model: str, progress: Progress) -> Prepared:
        """Get the model and find out what it can be run with."""
        ...


class Decoder(Protocol):
    """What is asked of the audio decoder."""

    async def name(self) -> str:
        """Return its name with its versions."""
        ...


async def check(pool: Pool, decoder: Decoder, folder: Path, model: str, url: str, say: Say) -> Prepared:
    """Look at everything a part needs and say what is there; raises Unfit and the engine's own errors."""
    free = await _free(folder)
    decoded_by = await decoder.name()
    prepared = await pool.prepare("", _download(model, say))
    for line in found(prepared, pool.size, decoded_by, free, url):
        say(line)
    return prepared


def found(prepared: Prepared, size: int, decoder: str, free: int, url: str) -> Iterator[str]:
    """Say in lines what this machine has to hear with."""
    info = prepared.info
    at_once = "1 part at a time" if size == 1 else f"{size} parts at a time"
    engine = f"{info.name} {info.version}, model {info.model}"
    yield f"Engine: {engine}, on {_device(info.device)} in {info.compute_type}, {at_once}."
    yield f"Audio: {decoder}."
    yield f"Disk: {free / _GIB:.1f} GiB free" + (", which is little." if free < _LITTLE_FREE else ".")
    yield from (f"Note: {note}" for note in prepared.notes)
    if in_clear(url):
        yield (
            f"Note: {url} is not encrypted, so the token can be read on the way; take the https:// address "
            "and the fingerprint from the invitation."
        )


def _device(device: str) -> str:
    return {"cpu": "the processor", "cuda": "the GPU"}.get(device, f"“{device}”")


def _download(model: str, say: Say) -> Progress:
    """Return what says every tenth of a download."""
    last = -1

    def told(done: int, total: int) -> None:
        nonlocal last
        tenth = 10 * done // total if total else 0
        if tenth > last:
            last = tenth
            say(f"Downloading the speech model {model}: {10 * tenth} %")

    return told


async def _free(folder: Path) -> int:
    try:
        free = (await files.call(_DISK_S, shutil.disk_usage, folder)).free
    except (OSError, TimeoutError) as error:
        raise Unfit(
            f"The data folder {folder} does not answer ({error}); choose another one with --data-dir."
        ) from error
    if free < _LEAST_FREE:
        raise Unfit(
            f"The disk of {folder} has {free >> 20} MiB free, too little for a part's audio; free some room."
        )
    return free
