"""The local executor: this machine's own engine children."""

import hashlib
from pathlib import Path
from typing import Protocol

from bridge_agent.base.threads import in_thread
from bridge_agent.transcription.audio.errors import AudioUnreadable
from bridge_agent.transcription.engines.base import Context, Heard
from bridge_agent.transcription.model import EngineInfo, PartResult
from bridge_agent.transcription.pipeline.executor import BadAudio, Download, PartWork, WordsSoFar

NAME = "this computer"


class Pool(Protocol):
    """What is asked of the engine pool."""

    @property
    def size(self) -> int:
        """How many parts can be heard at once."""
        ...

    def why_none(self) -> str | None:
        """Return the sentence on why there is no engine, or None."""
        ...

    def worst_case(self, samples: int) -> float:
        """Return the seconds that one part may take at the very worst."""
        ...

    async def prepare(self, model: str, progress: Download) -> object:
        """Get a model, and find out what it can be run with."""
        ...

    async def info(self, model: str) -> EngineInfo:
        """Return which engine hears with a model."""
        ...

    async def transcribe(self, pcm: bytes, context: Context, heard: WordsSoFar) -> Heard:
        """Hear a part."""
        ...

    async def detect_language(self, pcm: bytes, model: str) -> dict[str, float]:
        """Return each language's probability."""
        ...


class Pcm(Protocol):
    """What is asked of the audio decoder."""

    async def pcm(self, path: Path) -> bytes:
        """Return a cut part's samples; raises AudioUnreadable, DecoderDied."""
        ...


class LocalExecutor:
    """Runs parts in the pool of engine children."""

    name = NAME
    pulls = False

    def __init__(self, pool: Pool, decoder: Pcm) -> None:
        self._pool = pool
        self._decoder = decoder

    @property
    def places(self) -> int:
        """How many parts it takes at once; none where this machine has no engine."""
        return 0 if self._pool.why_none() is not None else self._pool.size

    def why_none(self) -> str | None:
        """Return the sentence on why this machine has no engine, or None."""
        return self._pool.why_none()

    def why_not(self, planned: str) -> str | None:
        """Return None: it gets whatever model a book is planned for."""
        return None

    async def info(self, model: str, download: Download) -> EngineInfo:
        """Return which engine it hears with, once the model is here."""
        await self._pool.prepare(model, download)
        return await self._pool.info(model)

    def worst_case(self, samples: int) -> float:
        """Return the seconds that a part of this length may take."""
        return self._pool.worst_case(samples)

    async def run(self, work: PartWork, heard: WordsSoFar) -> PartResult:
        """Check the part's audio, then hear it."""
        if await in_thread(checksum, work.path) != work.sha256:
            raise BadAudio
        try:
            pcm = await self._decoder.pcm(work.path)
        except AudioUnreadable as error:
            raise BadAudio from error
        found = await self._pool.transcribe(pcm, work.context, heard)
        return PartResult(
            number=work.number,
            segments=found.segments,
            language=found.language,
            engine=found.engine,
            flags=found.flags,
            speech_samples=found.speech_samples,
        )

    async def detect_language(self, path: Path, model: str) -> dict[str, float] | None:
        """Return each language's probability in cut audio."""
        return await self._pool.detect_language(await self._decoder.pcm(path), model)


def checksum(path: Path) -> str | None:
    """Return a file's SHA-256; None where there is none. Blocks."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
