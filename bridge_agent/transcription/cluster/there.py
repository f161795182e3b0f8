"""What runs in a Dask worker: the same decoder and engines as on a Bridge, kept from one part to the next."""

import asyncio
import concurrent.futures
import hashlib
import importlib
import os
import tempfile
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bridge_agent import __version__
from bridge_agent.base.clock import SystemClock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.files import private_folder
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.settings import WorkerSettings
from bridge_agent.transcription.audio.decoder import Decoder
from bridge_agent.transcription.audio.errors import AudioError, AudioUnreadable, DecoderUnavailable
from bridge_agent.transcription.cluster.messages import RESOURCE, Answer, Errand, OtherModel
from bridge_agent.transcription.engines.errors import EngineError, EngineUnavailable
from bridge_agent.transcription.engines.pool import EnginePool
from bridge_agent.transcription.engines.wishes import Wishes
from bridge_agent.transcription.model import PartResult, decode, encode
from bridge_agent.transcription.models.models import Models
from bridge_agent.transcription.pipeline.executor import BadAudio

LOOK_S = 0.25
"""Between two looks at whether a part is still wanted."""

T = TypeVar("T")
Tell = Callable[[str], None]


class Unwanted(Exception):
    """Nobody wants the part any more; nobody is told either."""


class Rooms:
    """The engines of this process, on a loop of their own. `at_once` parts are heard at a time."""

    def __init__(self, at_once: int) -> None:
        """Start the loop and build what hears; raises BridgeError, OSError."""
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="speech", daemon=True).start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(at_once), self._loop).result()
        except BaseException:
            self._loop.call_soon_threadsafe(self._loop.stop)
            raise

    async def _open(self, at_once: int) -> None:
        settings, clock, tasks = WorkerSettings.load(os.environ), SystemClock(), Tasks("cluster")
        private_folder(settings.data_dir)
        wishes = Wishes(
            model=settings.speech_model,
            device=settings.speech_device,
            compute_type=settings.speech_compute,
            processes=at_once,
            server=settings.speech_server,
            ca_file=settings.ca_file,
        )
        models = Models(settings.data_dir / "models", tasks, ca_file=settings.ca_file)
        self._pool = EnginePool(wishes, models, clock, tasks, notes=settings.data_dir / "engine.json")
        self._decoder = Decoder(clock, tasks)

    def wait(self, work: Coroutine[Any, Any, T], wanted: Callable[[], bool], tell: Callable[[], None]) -> T:
        """Do work on the loop; raises Unwanted, the work then stopped, and what the work raises."""
        doing = asyncio.run_coroutine_threadsafe(work, self._loop)
        while not concurrent.futures.wait({doing}, timeout=LOOK_S).done:
            tell()
            if not wanted():
                doing.cancel()
                raise Unwanted
        return doing.result()

    async def do(self, errand: Errand, flac: bytes, where: str, tell: Tell) -> Answer:
        """Do an errand; what goes wrong is in the answer."""
        try:
            return await self._done(errand, flac, where, tell)
        except (EngineUnavailable, DecoderUnavailable) as error:
            raise EngineUnavailable(error.message) from error
        except AudioUnreadable as error:
            raise BadAudio from error
        except AudioError as error:
            raise EngineError(error.message) from error

    async def _done(self, errand: Errand, flac: bytes, where: str, tell: Tell) -> Answer:
        context = errand.context
        info = (await self._pool.prepare(context.model)).info
        if errand.planned and info.model != errand.planned:
            raise OtherModel(
                f"The cluster’s worker {where} has the speech model “{info.model}”, but this book is for "
                f"“{errand.planned}”; give it that model, or set BRIDGE_WORKER_ANY_MODEL to on."
            )
        if errand.kind == "look":
            return Answer(where=where, info=info)
        pcm = await self._pcm(errand, flac)
        if errand.kind == "languages":
            return Answer(
                where=where, info=info, languages=await self._pool.detect_language(pcm, context.model)
            )
        found = await self._pool.transcribe(pcm, context, tell)
        result = PartResult(
            number=0,
            segments=found.segments,
            language=found.language,
            engine=found.engine,
            flags=found.flags,
            speech_samples=found.speech_samples,
        )
        return Answer(where=where, info=info, result=result)

    async def _pcm(self, errand: Errand, flac: bytes) -> bytes:
        if hashlib.sha256(flac).hexdigest() != errand.sha256:
            raise BadAudio
        with tempfile.TemporaryDirectory(prefix="bridge-part-") as folder:
            path = Path(folder) / "part.flac"
            await in_thread(path.write_bytes, flac)
            return await self._decoder.pcm(path)


_lock = threading.Lock()
_rooms: list[Rooms] = []


def _opened(at_once: int) -> Rooms:
    """Return this process's rooms, built by whoever comes first."""
    with _lock:
        if not _rooms:
            _rooms.append(Rooms(at_once))
        return _rooms[0]


def run(raw: bytes, flac: bytes) -> bytes:
    """Do an errand in the Dask worker that this process is; blocks. Raises Unwanted alone."""
    worker = importlib.import_module("distributed").get_worker()
    where, key = str(worker.address), worker.get_current_task()
    words: list[str] = []
    try:
        errand: Errand = decode(raw, Errand)
        _check_program(errand.program)
        rooms = _opened(max(1, int(worker.state.total_resources.get(RESOURCE, 1))))

        def tell() -> None:
            if words:
                worker.log_event(errand.topic, {"key": key, "text": words[-1]})
                words.clear()

        work = rooms.do(errand, flac, where, words.append)
        answer = rooms.wait(work, lambda: _wanted(worker, key), tell)
    except BridgeError as error:
        answer = Answer(where=where, code=error.code, sentence=error.message)
    except OSError as error:
        sentence = f"The cluster’s worker {where} can’t use its disk ({error.strerror}); free or mend it."
        answer = Answer(where=where, code=EngineUnavailable.code, sentence=sentence)
    except msgspec.ValidationError:
        answer = Answer(where=where, code=EngineUnavailable.code, sentence=_other_program("another version"))
    return encode(answer)


def _wanted(worker: Any, key: str) -> bool:  # noqa: ANN401
    """Tell whether the scheduler still wants a task of this worker: Dask can't interrupt a thread."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state in ("executing", "long-running")


def _check_program(version: str) -> None:
    if version != __version__:
        raise EngineUnavailable(_other_program(f"version {__version__}"))


def _other_program(which: str) -> str:
    return f"The cluster’s workers have {which} of this program; install the same one there as on the Bridge."
