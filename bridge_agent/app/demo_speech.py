"""The demo's transcription: a small model, got once from wherever it can be had, and one book to read."""

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from bridge_agent.app.visitor import ENDED, Visitor
from bridge_agent.base.backoff import token
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.files import private_folder
from bridge_agent.base.threads import files, in_thread
from bridge_agent.jobs.handlers.transcribe import KIND, offered
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.engines.errors import INSTALL
from bridge_agent.transcription.models import sample_weights
from bridge_agent.transcription.models.catalogue import REPOSITORIES
from bridge_agent.transcription.models.models import HUB
from bridge_agent.web.rendering import span

MODEL = "base"
"""What the demo hears with where nothing else is set: small, and quick on any machine."""
LEFT_OUT = (
    "  – No transcription: the speech engine is not installed here. "
    f"Install it with  {INSTALL}  and start again."
)
_FETCH_S = 3600.0
_HUB_S = 6.0
_STEP_S = 0.3


def with_small_model(settings: BridgeSettings) -> BridgeSettings:
    """Return settings with the demo's model where none is set."""
    if settings.origins["speech_model"].source != "default":
        return settings
    return dataclasses.replace(settings, speech_model=MODEL)


class DemoSpeech:
    """Transcribes the demo's book, and says where to read it."""

    def __init__(
        self, settings: BridgeSettings, cache: Path, say: Callable[[str], None], clock: Clock
    ) -> None:
        """Prepare; `cache` keeps the sample model for demos in other folders too."""
        self._settings = settings
        self._cache = cache
        self._say = say
        self._clock = clock

    @property
    def offered(self) -> bool:
        """Whether the demo's Bridge transcribes."""
        return offered(self._settings)

    async def run(self, visitor: Visitor, library_id: int, path: str, page: str) -> None:
        """Get the model, transcribe a book, and say where it can be read; what fails is said as well."""
        try:
            await self._get_model()
            self._say(f"  … Transcribing “{path}”: {page} shows the words as they are heard.")
            job = await visitor.queue(KIND, library_id, path)
            await self._told(visitor, job["id"], page)
        except BridgeError as error:
            self._say(f"  ! The transcription did not come about: {error.message}")

    async def _told(self, visitor: Visitor, job_id: int, page: str) -> None:
        waits = ""
        while True:
            job = await visitor.job(job_id)
            if job["state"] in ENDED:
                break
            if job["state"] == "needs_attention" and job["error"] != waits:
                waits = job["error"]
                self._say(f"  ! The transcription waits: {waits}")
            await self._clock.sleep(_STEP_S)
        if job["state"] != "done":
            raise BridgeError(job["error"] or f"it ended as {job['state']}.")
        self._say(await self._where(visitor, job, page))

    async def _where(self, visitor: Visitor, job: dict[str, Any], page: str) -> str:
        result = job["result"]
        path = result.get("path")
        kept = next((one for one in await visitor.transcripts() if one["path"] == path), None)
        read = f"{page}/transcripts/{kept['id']}" if kept else f"{page}/transcripts"
        spent = result["seconds_spent"]
        took = f" in {span(spent)}" if spent >= 0.1 else ", as it was before"
        length = span(result["duration_seconds"])
        return (
            f"  ✓ Transcribed “{result['title']}”: {length}{took}, {result['words']} words.\n"
            f"      read it      {read}\n"
            f"      search it    {page}/transcripts\n"
        )

    async def _get_model(self) -> None:
        """Where no hub is reachable, put the sample model where the Bridge looks first."""
        settings = self._settings
        place = settings.data_dir / "models" / MODEL
        if settings.speech_model != MODEL or settings.speech_server:
            return
        if await in_thread(place.is_dir) or await self._hub_answers():
            return
        self._say("  … Getting a small speech model (145 MB, once) …")
        # In a thread that does not keep the demo from ending.
        model = await files.call(_FETCH_S, sample_weights.fetch, self._cache)
        await in_thread(_put, model, place)

    async def _hub_answers(self) -> bool:
        hub = (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")
        timeout = aiohttp.ClientTimeout(_HUB_S, sock_connect=_HUB_S / 2, sock_read=_HUB_S / 2)
        with contextlib.suppress(aiohttp.ClientError, TimeoutError, ValueError):
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=True) as http,
                http.get(f"{hub}/api/models/{REPOSITORIES[MODEL]}") as response,
            ):
                return response.status == 200
        return False


def _put(model: Path, place: Path) -> None:
    """Put a model's files into a folder that appears whole; a copy shares the disk where that is possible."""
    private_folder(place.parent)
    aside = place.with_name(token(f".{place.name}-", 6))
    aside.mkdir()
    try:
        for file in model.iterdir():
            try:
                os.link(file, aside / file.name)
            except OSError:
                shutil.copyfile(file, aside / file.name)
        aside.rename(place)
    except OSError as error:
        raise BridgeError(
            f"The speech model can’t be written to {place} ({error.strerror}); free some space, start again."
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
