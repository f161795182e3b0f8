"""A whole worker: its rooms built from the settings, run until it ends by itself or by signals."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bridge_agent import __version__
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError, ExitCode, SettingsError
from bridge_agent.base.processes import notify_manager, on_each_stop_signal
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.settings import WorkerSettings
from bridge_agent.store.lock import FolderLock
from bridge_agent.transcription.audio.decoder import Decoder
from bridge_agent.transcription.engines.pool import EnginePool
from bridge_agent.transcription.engines.wishes import Wishes
from bridge_agent.transcription.model import EngineInfo
from bridge_agent.transcription.models.models import Models
from bridge_agent.worker.check import check
from bridge_agent.worker.coordinator import Coordinator
from bridge_agent.worker.ear import Ear
from bridge_agent.worker.folder import clear_audio, look, mark
from bridge_agent.worker.gate import Gate
from bridge_agent.worker.hold import Tools
from bridge_agent.worker.identity import Identity
from bridge_agent.worker.shelf import Shelf
from bridge_agent.worker.trust import trust
from bridge_agent.worker.worker import Mode, Worker

_log = logging.getLogger(__name__)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What the command line asks of this run alone."""

    once: bool = False
    idle_exit: bool = False


class WorkerApp:
    """One worker process: `run` does everything; the signals are told to `drain` and `give_up`."""

    def __init__(self, settings: WorkerSettings, clock: Clock, asked: Asked, say: Say) -> None:
        """Prepare, in a folder that is held; `say` prints for the person at the terminal.

        Raises SettingsError.
        """
        self._settings = settings
        self._token = _token(settings)
        self._clock = clock
        self._asked = asked
        self._say = say
        self._tasks = Tasks("worker's engines")
        self._worker: Worker | None = None
        self._stopped_early = asyncio.Event()

    def drain(self) -> None:
        """Take no more parts and end when what is begun is done."""
        if self._worker is None:
            self._stopped_early.set()
            return
        if self._worker.refused:
            self._told("Ending at once: the Bridge refuses this worker, so nothing can be handed in.")
        elif self._worker.at_work:
            self._told(
                "Ending when what is being heard is handed in; a second signal (Ctrl-C) gives it back at "
                "once."
            )
        else:
            self._told("Ending: nothing is being heard.")
        self._worker.drain()

    def give_up(self) -> None:
        """Give everything back and end now."""
        if self._worker is not None:
            if self._worker.at_work:
                self._told("Ending at once: what is being heard is given back.")
            self._worker.give_up()

    async def run(self) -> ExitCode:
        """Check, join, work; raises BridgeError."""
        async with contextlib.AsyncExitStack() as closing:
            stop = self._tasks.spawn(self._stopped_early.wait(), "signal")
            opening = self._tasks.spawn(self._open(closing), "start", awaited=True)
            closing.push_async_callback(self._tasks.cancel)
            await asyncio.wait({stop, opening}, return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                return ExitCode.DONE
            self._worker = opening.result()
            notify_manager("READY=1")
            code = await self._worker.run()
            notify_manager("STOPPING=1")
            return code

    async def _open(self, closing: contextlib.AsyncExitStack) -> Worker:
        settings, clock = self._settings, self._clock
        folder = settings.data_dir
        self._told(f"Worker {__version__} for the Bridge at {settings.url}; its data is in {folder}.")
        trusted = await in_thread(trust, settings)
        models = Models(folder / "models", self._tasks, ca_file=settings.ca_file)
        pool = EnginePool(_wishes(settings), models, clock, self._tasks, notes=folder / "engine.json")
        closing.push_async_callback(pool.stop)
        decoder = Decoder(clock, self._tasks)
        closing.push_async_callback(decoder.stop)
        prepared = await check(pool, decoder, folder, settings.speech_model, settings.url, self._told)
        ends = self._asked.once or self._asked.idle_exit
        gate = Gate(clock, None if ends else settings.refused_retry_seconds)
        coordinator = Coordinator(settings.url, self._token, trusted, clock, gate)
        closing.push_async_callback(coordinator.close)
        tools = await self._tools(coordinator, Ear(pool, decoder, clock), prepared.info)
        model = prepared.info.model
        identity = Identity(folder / "worker.json", coordinator, self._token, settings.name, model)
        return Worker(tools, identity, self._mode())

    async def _tools(self, coordinator: Coordinator, ear: Ear, engine: EngineInfo) -> Tools:
        folder = self._settings.data_dir
        shelf, audio = Shelf(folder / "finished", self._clock), folder / "audio"
        try:
            await in_thread(clear_audio, audio)
            await shelf.open()
        except OSError as error:
            raise _unwritable(folder, error) from error
        return Tools(
            clock=self._clock,
            tasks=self._tasks,
            coordinator=coordinator,
            ear=ear,
            engine=engine,
            shelf=shelf,
            folder=audio,
            places=asyncio.Semaphore(ear.size),
            changed=asyncio.Event(),
        )

    def _mode(self) -> Mode:
        return Mode(
            hours=self._settings.hours,
            poll_s=self._settings.poll_seconds,
            once=self._asked.once,
            idle_exit=self._asked.idle_exit,
        )

    def _told(self, line: str) -> None:
        if _log.isEnabledFor(logging.INFO):
            _log.info("%s", line)
        else:
            self._say(line)


def examine(settings: WorkerSettings) -> None:
    """Look for what no worker can begin with, before anything is made or asked for; raises SettingsError."""
    if not settings.url:
        raise SettingsError(
            "BRIDGE_WORKER_URL is not set; copy the line that “Add a worker” on the Bridge’s page shows."
        )
    if "@" in urlsplit(settings.url).netloc:
        # It is not repeated: what stands before the @ is a secret.
        raise SettingsError(
            "BRIDGE_WORKER_URL (--url) holds a name or password before an @; give the address alone, as the "
            "invitation shows it, and the token at the prompt or by BRIDGE_WORKER_TOKEN."
        )
    if settings.speech_processes == 0:
        raise SettingsError(
            "BRIDGE_SPEECH_PROCESSES is 0, with which a worker could hear nothing; take it out here, or set "
            "it to 1 or more."
        )


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Have a data folder for this worker alone; raises NotAWorkers, FolderInUse, BridgeError."""
    lock = FolderLock(folder, "worker")
    try:
        try:
            look(folder)
            lock.acquire()
            mark(folder)
        except OSError as error:
            raise _unwritable(folder, error) from error
        yield
    finally:
        lock.release()


async def run(app: WorkerApp) -> ExitCode:
    """Run a worker; the first signal drains it, the second gives its claims back, a third kills it."""
    on_each_stop_signal(asyncio.get_running_loop(), app.drain, app.give_up)
    code = await app.run()
    _log.info("Stopped.")
    return code


def _token(settings: WorkerSettings) -> str:
    token = settings.token.strip()
    if not token:
        raise SettingsError(
            "There is no token; set BRIDGE_WORKER_TOKEN_FILE or BRIDGE_WORKER_TOKEN, or type it in."
        )
    if not all("!" <= letter <= "~" for letter in token):
        raise SettingsError(
            "The token holds a line break, a blank or another letter that no token has; copy it once more, "
            "alone and whole, from where the invitation shows it."
        )
    return token


def _unwritable(folder: Path, error: OSError) -> BridgeError:
    return BridgeError(
        f"The data folder {folder} can’t be used ({error.strerror}); mend its permissions, or choose another "
        "one with --data-dir."
    )


def _wishes(settings: WorkerSettings) -> Wishes:
    return Wishes(
        model=settings.speech_model,
        device=settings.speech_device,
        compute_type=settings.speech_compute,
        processes=settings.speech_processes,
        server=settings.speech_server,
        ca_file=settings.ca_file,
    )
