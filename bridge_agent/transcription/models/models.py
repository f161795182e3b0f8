"""The models of this machine: found here first, downloaded once by name, offline afterwards."""

import asyncio
import logging
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from bridge_agent.base import children
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.transcription.models import catalogue, fetch, folders
from bridge_agent.transcription.models.errors import BrokenModel, DownloadFailed, UnknownModel
from bridge_agent.transcription.models.folders import ModelFolder

HUB = "https://huggingface.co"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MODULE = "bridge_agent.transcription.models.fetch"

Progress = Callable[[int, int], None]
"""Called with the bytes that are here and the bytes in all."""

_log = logging.getLogger(__name__)


def _unwatched(_done: int, _total: int) -> None:
    """Take progress that nobody looks at."""


class Models:
    """Speech models in a folder of their own, each in a folder named like the model."""

    def __init__(self, folder: Path, tasks: Tasks, *, hub: str | None = None, ca_file: str = "") -> None:
        self._folder = folder
        self._tasks = tasks
        self._hub = (hub or os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")
        self._ca_file = ca_file
        self._running: dict[str, asyncio.Task[None]] = {}
        self._watchers: dict[str, list[Progress]] = {}
        self._coming: dict[str, tuple[int, int]] = {}

    def known(self, name: str) -> bool:
        """Tell whether a name is one to download, or of a model that is installed here (never a path)."""
        if name in catalogue.REPOSITORIES:
            return True
        return bool(_NAME.fullmatch(name)) and not name.endswith(fetch.PARTIAL) and self._at(name).is_dir()

    def names(self) -> list[str]:
        """Return the names that can be chosen."""
        return list(catalogue.REPOSITORIES)

    def downloads(self) -> dict[str, tuple[int, int]]:
        """Return the models that come in now: bytes that are here, and in all (0: not known)."""
        return dict(self._coming)

    async def find(self, name_or_folder: str) -> ModelFolder | None:
        """Return a model that is here and whole, without the network; None for a name not downloaded yet.

        Raises BrokenModel naming what is missing, UnknownModel for a name that is none.
        """
        if is_path(name_or_folder):
            return await in_thread(folders.by_folder, Path(name_or_folder), self._folder / "hashes.json")
        if not self.known(name_or_folder):
            raise UnknownModel(
                f"No speech model is named “{name_or_folder}”; choose one of "
                f"{', '.join(catalogue.REPOSITORIES)}, or a folder."
            )
        name = catalogue.plain(name_or_folder)
        path = self._at(name)
        if not await in_thread(path.is_dir):
            return None
        size = await in_thread(folders.check, path)
        return ModelFolder(path=path, id=name, size=size)

    async def get(self, name_or_folder: str, progress: Progress = _unwatched) -> ModelFolder:
        """Return a model, downloading it once if it is not here; what is broken is downloaded again.

        Several that want the same one share its download, which goes on when one of them is cancelled and
        ends with the last. Raises UnknownModel, BrokenModel (a folder's), DownloadFailed.
        """
        try:
            found = await self.find(name_or_folder)
        except BrokenModel as error:
            if is_path(name_or_folder) or name_or_folder not in catalogue.REPOSITORIES:
                raise
            _log.warning("%s", error.message)
            found = None
        if found is None:
            await self._download(catalogue.plain(name_or_folder), progress)
            found = await self.find(name_or_folder)
        if found is None:
            raise DownloadFailed
        return found

    async def _download(self, name: str, progress: Progress) -> None:
        watchers = self._watchers.setdefault(name, [])
        watchers.append(progress)
        if name not in self._running:
            self._running[name] = self._tasks.spawn(
                self._fetch(name), f"download of the model {name}", awaited=True
            )
        running = self._running[name]
        try:
            await asyncio.shield(running)
        finally:
            watchers.remove(progress)
            if running.done() or not watchers:
                running.cancel()
                self._running.pop(name, None)

    async def _fetch(self, name: str) -> None:
        await in_thread(lambda: self._folder.mkdir(parents=True, exist_ok=True))
        order = fetch.Order(
            hub=self._hub,
            repository=catalogue.REPOSITORIES[name],
            folder=str(self._at(name)),
            ca_file=self._ca_file,
        )
        _log.info("Downloading the speech model %s from %s", name, self._hub)
        process = await asyncio.create_subprocess_exec(
            *children.command(_MODULE),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=children.environment(dict(os.environ)),
        )  # fmt: skip
        try:
            last = await self._follow(process, name, msgspec.json.encode(order) + b"\n")
        finally:
            self._coming.pop(name, None)
            if process.returncode is None:
                process.kill()
            if process.stdin is not None:
                process.stdin.close()
            await process.wait()
        if not last.whole:
            raise DownloadFailed(last.error or None, later=last.later)

    async def _follow(self, process: asyncio.subprocess.Process, name: str, order: bytes) -> fetch.Step:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(order)
        last = fetch.Step()
        self._coming[name] = (0, 0)
        while line := await process.stdout.readline():
            last = msgspec.json.decode(line, type=fetch.Step)
            if last.whole or last.error:
                break
            if last.trouble:
                _log.warning("%s; it is tried again for a while.", last.trouble)
                continue
            self._coming[name] = (last.done, last.total)
            for watcher in self._watchers.get(name, []):
                watcher(last.done, last.total)
        return last

    def _at(self, name: str) -> Path:
        return self._folder / catalogue.plain(name)


def is_path(name_or_folder: str) -> bool:
    """Tell whether the setting names a folder: something with a separator in it, or from home."""
    return "/" in name_or_folder or "\\" in name_or_folder or name_or_folder.startswith("~")
