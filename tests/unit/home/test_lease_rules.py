"""The sweep's SQL against the pure rule, and a machine that tries everything in any order."""

import dataclasses
import itertools

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bridge_agent.home import claims, leases
from bridge_agent.home.job import Job
from bridge_agent.home.waits import Ask, Nothing
from bridge_agent.protocol.leases import lapse, may_write
from bridge_agent.protocol.states import ENDED, HELD, JobState
from bridge_agent.store import Queries
from tests.unit.home.store import NOW, TOKEN, add_job, at, open_store

SQL = Queries("bridge_agent.home", "bridge_jobs.sql")
LEASE = 120.0
MOST = 3


@pytest.mark.parametrize(
    ("state", "tries", "asked"), list(itertools.product(sorted(HELD), (1, 2, 3, 4), (False, True)))
)
def test_the_sweep_does_what_the_rule_says(state: str, tries: int, asked: bool):
    connection = open_store()
    job_id = add_job(connection, "Book")
    connection.execute(
        "UPDATE bridge_jobs SET state = ?, attempts = 7, tries = ?, cancel_requested = ?, lease_deadline = 1,"
        " lease_expires_at = ?, progress = '{\"step\": \"s\"}', result = '{\"n\": 1}', error = 'odd'"
        " WHERE id = ?",
        (state, tries, asked, NOW, job_id),
    )
    [job] = leases.sweep(connection, at(0), MOST)
    expected = lapse(tries, MOST, asked)
    assert job.state is expected.state
    kept = ({"step": "s"}, {"n": 1}) if expected.keeps_report else (None, None)
    assert (job.progress, job.result) == kept
    assert job.error == (expected.error or ("odd" if expected.keeps_report else None))
    assert job.attempts == 7
    assert leases.sweep(connection, at(0), MOST) == []


class Jobs(RuleBasedStateMachine):
    """Claims, reports, lapses, cancels and claims given back, against what the rules say."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = open_store()
        self.now = 0.0
        self.claimed: list[Job] = []
        self.used: set[tuple[int, int]] = set()
        self.seen: dict[int, int] = {}
        self.number = 0

    def teardown(self) -> None:
        self.connection.close()

    def rows(self) -> list[Job]:
        return [Job.of(row) for row in self.connection.execute("SELECT * FROM bridge_jobs")]

    def get(self, job_id: int) -> Job:
        return Job.of(self.connection.execute(SQL["get"], (job_id,)).fetchone())

    @rule(kind=st.sampled_from(["k.a", "k.b"]), priority=st.integers(-2, 2))
    def queue(self, kind: str, priority: int) -> None:
        self.number += 1
        add_job(self.connection, f"Book {self.number}", kind, priority)

    @rule(
        kinds=st.sampled_from([None, ("k.a",), ("k.b",), ("k.c",)]),
        claim_id=st.sampled_from([None, "x", "y"]),
    )
    def claim(self, kinds, claim_id) -> None:
        moment = at(self.now)
        swept = leases.sweep(self.connection, moment, MOST)
        assert all(not job.held for job in swept)
        before = self.rows()
        ask = Ask(TOKEN, kinds, claim_id)
        [got] = claims.Claims(self.connection, moment, LEASE, frozenset({"k.a", "k.b"})).serve([ask])
        again = [job for job in before if claim_id and job.held and self.claim_id(job.id) == claim_id]
        admitted = {"k.a", "k.b"} if kinds is None else set(kinds) & {"k.a", "k.b"}
        if again:
            assert isinstance(got, Job)
            assert (got.id, got.attempts) == (again[0].id, again[0].attempts)
            return
        if not admitted:
            assert got is Nothing.NO_KIND
            return
        queued = [job for job in before if job.state is JobState.QUEUED and job.kind in admitted]
        if not queued:
            assert got is Nothing.YET
            return
        best = min(queued, key=lambda job: (-job.priority, job.created_at, job.id))
        assert isinstance(got, Job)
        assert (got.id, got.state, got.attempts) == (best.id, JobState.CLAIMED, best.attempts + 1)
        assert (got.id, got.attempts) not in self.used
        self.used.add((got.id, got.attempts))
        self.claimed.append(got)

    def claim_id(self, job_id: int) -> str | None:
        return self.connection.execute("SELECT claim_id FROM bridge_jobs WHERE id = ?", (job_id,)).fetchone()[
            0
        ]

    @precondition(lambda self: self.claimed)
    @rule(data=st.data(), state=st.sampled_from(sorted({"running", "needs_attention"} | ENDED)))
    def report(self, data, state: str) -> None:
        job = data.draw(st.sampled_from(self.claimed))
        moment = at(self.now)
        leases.sweep(self.connection, moment, MOST)
        before = self.get(job.id)
        values = {
            "id": job.id,
            "attempt": job.attempts,
            "state": state,
            "ends": state in ENDED,
            "progress": None,
            "result": None,
            "error": None,
            "now": moment.text,
            "expires_at": moment.text_after(LEASE),
            "deadline": moment.seconds + LEASE,
        }
        row = self.connection.execute(SQL["report"], values).fetchone()
        assert (row is not None) == may_write(before.attempts, before.state, job.attempts)
        if row is None:
            assert self.get(job.id) == before

    @precondition(lambda self: self.claimed)
    @rule(data=st.data())
    def give_back(self, data) -> None:
        job = data.draw(st.sampled_from(self.claimed))
        before = self.get(job.id)
        returned = claims.give_back(self.connection, job, at(self.now))
        still_it = before.state is JobState.CLAIMED and before.attempts == job.attempts
        assert (returned is not None) == still_it
        if returned is not None:
            assert returned.state is (JobState.CANCELLED if before.cancel_requested else JobState.QUEUED)
            assert returned.attempts == before.attempts

    @rule(data=st.data())
    def cancel(self, data) -> None:
        rows = self.rows()
        if rows:
            job = data.draw(st.sampled_from(rows))
            row = self.connection.execute(SQL["cancel"], {"id": job.id, "now": NOW}).fetchone()
            assert (row is None) == job.ended

    @rule(seconds=st.sampled_from([1.0, 60.0, 119.0, 121.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def attempts_never_go_down_and_ended_jobs_stay_as_they_are(self) -> None:
        for job in self.rows():
            assert job.attempts >= self.seen.get(job.id, 0)
            self.seen[job.id] = job.attempts

    @invariant()
    def nothing_is_tried_more_often_than_allowed(self) -> None:
        most = self.connection.execute("SELECT max(tries) FROM bridge_jobs").fetchone()[0]
        assert (most or 0) <= MOST


TestJobs = Jobs.TestCase
TestJobs.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_a_round_serves_each_poll_once_and_hands_no_job_out_twice():
    connection = open_store()
    ids = [add_job(connection, f"Book {number}") for number in range(3)]
    asks = [Ask(TOKEN, None, None) for _ in range(5)]
    outcomes = claims.Claims(connection, at(0), LEASE, frozenset({"k.a"})).serve(asks)
    assert [job.id for job in outcomes if isinstance(job, Job)] == ids
    assert outcomes[3:] == [Nothing.YET, Nothing.YET]


def test_a_round_costs_thousands_of_polls_hardly_more_than_one():
    connection = open_store()
    add_job(connection, "Book")
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    asks = [dataclasses.replace(Ask(TOKEN, None, str(n)), first=False) for n in range(2000)]
    outcomes = claims.Claims(connection, at(0), LEASE, frozenset({"k.a"})).serve(asks)
    assert sum(isinstance(outcome, Job) for outcome in outcomes) == 1
    assert len(statements) < 10
