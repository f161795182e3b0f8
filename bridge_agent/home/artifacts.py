"""Artifacts: files that the holder of a job hands in, kept under the data folder until the job goes."""

import re
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.home import credentials, leases
from bridge_agent.home.artifact_files import ArtifactFiles, Incoming
from bridge_agent.home.bridge_jobs import BridgeJobs, NotHeld, TokenRevoked
from bridge_agent.home.errors import Conflict, HomeError, NotFound
from bridge_agent.home.moment import Moment
from bridge_agent.protocol.bridge import (
    ARTIFACT_TYPES,
    ARTIFACTS_A_JOB,
    ArtifactAnswer,
    is_artifact_name,
)
from bridge_agent.settings import HomeSettings
from bridge_agent.store import Database, Queries

_SQL = Queries(__package__, "artifacts.sql")
_JOBS_SQL = Queries(__package__, "bridge_jobs.sql")
_SUM = re.compile(r"[0-9a-f]{64}\Z")


class BadArtifact(HomeError):
    """The artifact’s name, type, attempt or sum is not right; update the Bridge."""

    code = "invalid_artifact"


class TooManyArtifacts(HomeError):
    """The job has as many artifacts as it may; hand in fewer."""

    code = "too_many_artifacts"


class ArtifactExists(Conflict):
    """There are other bytes under this name already; hand these in under another name."""

    code = "artifact_exists"


class NoSuchArtifact(NotFound):
    """The job has no artifact of this name; load its list again."""


@dataclass(frozen=True)
class Artifact:
    """A stored artifact."""

    id: int
    job_id: int
    attempt: int
    name: str
    content_type: str
    sha256: str
    size_bytes: int

    @classmethod
    def of(cls, row: sqlite3.Row) -> "Artifact":
        """Read a row."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    def wire(self) -> dict[str, object]:
        """Return its entry of the list."""
        return {
            "name": self.name,
            "attempt": self.attempt,
            "content_type": self.content_type,
            "sha256": self.sha256,
            "size_bytes": self.size_bytes,
        }

    def answer(self) -> ArtifactAnswer:
        """Return what its sender is answered."""
        return ArtifactAnswer(
            artifact_id=self.id, name=self.name, sha256=self.sha256, size_bytes=self.size_bytes
        )


@dataclass(frozen=True)
class Offer:
    """What a holder says of the bytes that it will send."""

    job_id: int
    attempt: int | None
    """None where none was named, or what no number is."""
    name: str
    content_type: str
    sha256: str

    def judge(self) -> None:
        """Raise BadArtifact for a name, type, attempt or sum of a wrong form."""
        if not is_artifact_name(self.name):
            raise BadArtifact(
                "An artifact’s name has small letters, figures, dots and dashes; choose another."
            )
        if self.content_type not in ARTIFACT_TYPES:
            raise BadArtifact(f"An artifact’s type is one of {', '.join(sorted(ARTIFACT_TYPES))}; send that.")
        if self.attempt is None:
            raise BadArtifact("X-Job-Attempt takes the attempt that the claim returned; send it.")
        if not _SUM.match(self.sha256):
            raise BadArtifact("X-Content-SHA256 takes the SHA-256 of the bytes in hex; send it.")

    def key(self) -> dict[str, object]:
        """Return what the statements bind."""
        return {"job_id": self.job_id, "attempt": self.claimed, "name": self.name}

    @property
    def claimed(self) -> int:
        """The attempt; 0, which no claim has, for what none can have had (R-064)."""
        return self.attempt if self.attempt is not None and self.attempt < 1 << 53 else 0


class Artifacts:
    """The artifacts of all jobs. A row is written after its file is in place, so each row has its file."""

    def __init__(
        self, settings: HomeSettings, clock: Clock, db: Database, jobs: BridgeJobs, folder: Path
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._db = db
        self._jobs = jobs
        self._files = ArtifactFiles(folder)

    async def put(self, token_hash: str, offer: Offer, pieces: AsyncIterator[bytes]) -> ArtifactAnswer:
        """Store what comes, from the claim that holds the job alone; the same bytes again are welcome.

        Renews the lease at its begin and its end. Raises NotHeld, TokenRevoked, ArtifactTooLarge,
        ChecksumMismatch and this module's errors; whatever it raises, nothing is kept.
        """
        offer.judge()
        unit = _Taking(token_hash, offer, self._settings.lease_seconds, self._files)
        await self._taken(unit)
        async with self._files.receive(offer.sha256, pieces) as incoming:
            unit.incoming = incoming
            kept = await self._taken(unit)
        assert kept is not None
        return kept.answer()

    async def list(self, job_id: int) -> "tuple[Artifact, ...]":
        """Return the artifacts of the latest attempt that has any; raises NoSuchJob."""
        await self._jobs.get(job_id)
        rows = await self._db.read(lambda c: c.execute(_SQL["latest"], {"job_id": job_id}).fetchall())
        return tuple(Artifact.of(row) for row in rows)

    async def get(self, job_id: int, name: str) -> tuple[Artifact, Path]:
        """Return one of them and its file; raises NoSuchJob, NoSuchArtifact."""
        for artifact in await self.list(job_id):
            if artifact.name == name:
                return artifact, self._files.place(artifact.job_id, artifact.attempt, artifact.name)
        raise NoSuchArtifact

    async def forget_jobs(self, job_ids: "tuple[int, ...]") -> None:
        """Remove the files of jobs that are gone."""
        await self._files.remove(job_ids)

    async def tidy(self) -> None:
        """Remove what a crash left behind; at a start alone, while nothing is being received."""
        rows = await self._db.read(lambda c: c.execute(_SQL["jobs"]).fetchall())
        await self._files.tidy({row["job_id"] for row in rows})

    async def _taken(self, unit: "_Taking") -> Artifact | None:
        moment = Moment.of(self._clock)
        outcome = await self._jobs.in_swept_unit(moment, lambda c: unit.run(c, moment))
        if isinstance(outcome, HomeError):
            raise outcome
        return outcome


@dataclass
class _Taking:
    """The unit that judges an offer and, once its bytes have come, keeps them."""

    token_hash: str
    offer: Offer
    lease_s: float
    files: ArtifactFiles
    incoming: Incoming | None = None

    def run(self, connection: sqlite3.Connection, moment: Moment) -> Artifact | HomeError | None:
        """Return the artifact kept, why it can't be, or None where its bytes are still to come."""
        offer = self.offer
        if not credentials.bridge_token_works(connection, self.token_hash, moment.text):
            return TokenRevoked()
        if not leases.renew(connection, offer.job_id, offer.claimed, moment, self.lease_s):
            row = connection.execute(_JOBS_SQL["get"], (offer.job_id,)).fetchone()
            return NotHeld(None if row is None else row["state"])
        there = connection.execute(_SQL["find"], offer.key()).fetchone()
        if there is not None:
            return Artifact.of(there) if there["sha256"] == offer.sha256 else ArtifactExists()
        if connection.execute(_SQL["count"], offer.key()).fetchone()["count"] >= ARTIFACTS_A_JOB:
            return TooManyArtifacts()
        return None if self.incoming is None else self._keep(connection, self.incoming, moment)

    def _keep(self, connection: sqlite3.Connection, incoming: Incoming, moment: Moment) -> Artifact:
        offer = self.offer
        self.files.settle(incoming, offer.job_id, offer.claimed, offer.name)
        values = {
            **offer.key(),
            "content_type": offer.content_type,
            "sha256": offer.sha256,
            "size_bytes": incoming.size,
            "now": moment.text,
        }
        return Artifact.of(connection.execute(_SQL["keep"], values).fetchone())
