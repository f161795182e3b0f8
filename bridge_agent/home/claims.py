"""Claims: the unit of work that hands queued jobs to polls, checking all again inside it (R-031, R-054)."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

from bridge_agent.home import bridge_status, credentials
from bridge_agent.home.job import Job
from bridge_agent.home.moment import Moment
from bridge_agent.home.waits import Ask, Nothing, Outcome
from bridge_agent.store import Queries

_SQL = Queries(__package__, "bridge_jobs.sql")


@dataclass
class Claims:
    """What one round has found out, so that thousands of polls cost as little as one."""

    connection: sqlite3.Connection
    moment: Moment
    lease_s: float
    known_kinds: frozenset[str]
    _tokens: dict[str, bool] = field(default_factory=dict)
    _won: dict[str, Job] = field(default_factory=dict)
    _empty: set[tuple[str, ...]] = field(default_factory=set)

    def serve(self, asks: Iterable[Ask]) -> list[Outcome]:
        """Return each poll's outcome, in the order of the asking."""
        heard = bridge_status.advertised(self.connection)
        return [self._one(ask, heard) for ask in asks]

    def _one(self, ask: Ask, heard: list[str] | None) -> Outcome:
        if not self._token_works(ask.token_hash):
            return Nothing.REFUSED
        if heard is None:
            return Nothing.NO_HEARTBEAT
        if (job := self._won_before(ask)) is not None:
            return job
        kinds = tuple(
            sorted(k for k in heard if k in self.known_kinds and (ask.kinds is None or k in ask.kinds))
        )
        if not kinds:
            return Nothing.NO_KIND
        if kinds in self._empty:
            return Nothing.YET
        return self._claim(ask, kinds)

    def _token_works(self, token_hash: str) -> bool:
        if token_hash not in self._tokens:
            self._tokens[token_hash] = credentials.bridge_token_works(
                self.connection, token_hash, self.moment.text
            )
        return self._tokens[token_hash]

    def _won_before(self, ask: Ask) -> Job | None:
        """Return the job that this claim id was given already, while its claim is held (settled point 9)."""
        if ask.claim_id is None:
            return None
        if ask.claim_id in self._won:
            return self._won[ask.claim_id]
        if not ask.first:
            return None
        row = self.connection.execute(_SQL["claim_again"], self._lease(ask)).fetchone()
        return None if row is None else Job.of(row)

    def _claim(self, ask: Ask, kinds: tuple[str, ...]) -> Outcome:
        values = {**self._lease(ask), "kinds": json.dumps(kinds), "now": self.moment.text}
        row = self.connection.execute(_SQL["claim"], values).fetchone()
        if row is None:
            self._empty.add(kinds)
            return Nothing.YET
        job = Job.of(row)
        if ask.claim_id is not None:
            self._won[ask.claim_id] = job
        return job

    def _lease(self, ask: Ask) -> dict[str, object]:
        return {
            "claim_id": ask.claim_id,
            "expires_at": self.moment.text_after(self.lease_s),
            "deadline": self.moment.seconds + self.lease_s,
        }


def give_back(connection: sqlite3.Connection, job: Job, moment: Moment) -> Job | None:
    """Queue a claim that reached nobody again; None where it is no longer that claim."""
    values = {"id": job.id, "attempt": job.attempts, "now": moment.text}
    row = connection.execute(_SQL["give_back"], values).fetchone()
    return None if row is None else Job.of(row)
