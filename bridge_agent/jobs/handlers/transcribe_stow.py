"""Where a finished transcript goes: to the server, else it stays here; beside the book if that is wanted."""

import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from bridge_agent.base.backoff import token
from bridge_agent.base.clock import Clock
from bridge_agent.base.threads import TooManyStuck
from bridge_agent.base.threads import files as disk
from bridge_agent.jobs.handlers.base import JobContext
from bridge_agent.jobs.handlers.transcribe_source import Source
from bridge_agent.link.errors import Rejected, ServerAway
from bridge_agent.protocol.bridge import ArtifactAnswer
from bridge_agent.transcription.assembly.result import Artifact
from bridge_agent.transcription.transcripts import Kept, Transcripts

_FIRST_S = 2.0
_LONGEST_S = 30.0
_TRUST_S = 1.0
_WRITE_S = 60.0
_NO_ROUTE = frozenset({404, 405})

_log = logging.getLogger(__name__)

PutArtifact = Callable[[int, int, str, str, Path], Awaitable[ArtifactAnswer]]


class Uploads(Protocol):
    """Whom to send artifacts to."""

    async def put_artifact(
        self, job_id: int, attempt: int, name: str, content_type: str, content: Path
    ) -> ArtifactAnswer:
        """Upload a file; raises NotHeld, OSError, Rejected, ServerAway."""
        ...


class Stowed(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files are, and what went another way than it should."""

    artifacts: tuple[Artifact, ...]
    warnings: tuple[str, ...] = ()


class Stow:
    """Sends and writes the files of kept transcripts."""

    def __init__(self, link: Uploads, transcripts: Transcripts, clock: Clock, beside_books: bool) -> None:
        self._link = link
        self._transcripts = transcripts
        self._clock = clock
        self._beside_books = beside_books

    async def put(self, job: JobContext, kept: Kept, source: Source) -> Stowed:
        """Send a kept transcript's files to the server and write them beside the book where that is wanted.

        A server that is away is waited for, one that takes no artifacts leaves them here. Raises NotHeld,
        TokenRefused, TranscriptDamaged.
        """
        stored: list[Artifact] = []
        warnings: list[str] = []
        refused = False
        for number, artifact in enumerate(kept.artifacts):
            job.progress("upload", "Sending the transcript", number, len(kept.artifacts))
            file = await self._transcripts.artifact(kept.id, artifact.name)
            where = "bridge"
            if file is not None and not refused:
                try:
                    await self._send(job, artifact, file.path)
                    where = "server"
                except Rejected as error:
                    refused = error.status in _NO_ROUTE
                    if not refused:
                        warnings.append(
                            f"The server did not take {artifact.name} ({error.message}); "
                            "it is kept on the Bridge."
                        )
            stored.append(msgspec.structs.replace(artifact, stored=where))
        job.progress("upload", "Sending the transcript", len(stored), len(stored))
        if self._beside_books:
            warnings += await self._beside(job, kept, source)
        return Stowed(artifacts=tuple(stored), warnings=tuple(warnings))

    async def _send(self, job: JobContext, artifact: Artifact, path: Path) -> None:
        pause = _FIRST_S
        while True:
            await self._trusted(job)
            try:
                await self._link.put_artifact(
                    job.job_id, job.attempt, artifact.name, artifact.content_type, path
                )
            except ServerAway as away:
                # The work is done; only the sending waits (settled point 17).
                _log.info("%s waits to be sent: %s", artifact.name, away.message)
                await self._clock.sleep(max(pause, away.retry_after or 0.0))
                pause = min(2 * pause, _LONGEST_S)
            else:
                return

    async def _trusted(self, job: JobContext) -> None:
        """Wait until the lease can be believed in: nothing is uploaded or written without (law 5)."""
        while not job.trusted():
            await self._clock.sleep(_TRUST_S)

    async def _beside(self, job: JobContext, kept: Kept, source: Source) -> list[str]:
        files: list[tuple[Path, str]] = []
        for artifact in kept.artifacts:
            file = await self._transcripts.artifact(kept.id, artifact.name)
            if file is not None:
                files.append((file.path, f"{source.stem}.{artifact.name}"))
        await self._trusted(job)
        try:
            await disk.call(_WRITE_S, copy_beside, source.folder, files)
        except (OSError, TimeoutError, TooManyStuck) as error:
            why = getattr(error, "strerror", None) or "its folder did not answer"
            return [
                f"The transcript could not be written beside the book ({why}); let the Bridge’s user write "
                "in that folder, or take it from the Bridge’s page."
            ]
        return []


def copy_beside(folder: Path, files: Sequence[tuple[Path, str]]) -> None:
    """Write files into a book's folder, each whole or not at all; raises OSError. Belongs in a thread."""
    for source, name in files:
        aside = folder / token(".bridge-", 9)
        try:
            # With the rights that new files have there: others are to read it as well.
            with aside.open("xb") as out:
                out.write(source.read_bytes())
                out.flush()
                os.fsync(out.fileno())
            aside.replace(folder / name)
        except BaseException:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)
            raise
