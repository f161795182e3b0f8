"""Whatever happens, every accepted part is done, to be had again, or its end was told (P-070)."""

import asyncio
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bridge_agent.base.clock import later, to_text
from bridge_agent.store.database import open_inline
from bridge_agent.transcription.model import EngineInfo, PartResult, Plan, encode
from bridge_agent.transcription.pipeline import finished, recordings, tasks
from bridge_agent.transcription.pipeline.desk import LOCAL, Desk
from bridge_agent.transcription.pipeline.opening import SCHEMA
from bridge_agent.transcription.pipeline.policy import Retries, Step
from bridge_agent.transcription.pipeline.recordings import Asker
from bridge_agent.transcription.pipeline.senders import Replies
from bridge_agent.transcription.pipeline.signs import NoWork, Poll
from bridge_agent.transcription.pipeline.tasks import NewTask, Task
from tests.fakes.clock import FakeClock
from tests.fakes.pipeline import SETTINGS, FakeSender

RESULT = PartResult(
    number=0,
    segments=(),
    language="en",
    engine=EngineInfo(name="e", version="1", model="m", device="cpu", compute_type="int8"),
)
CONVERT = Step("convert", "created", 100.0)
TRANSCRIBE = Step("transcribe", "converted", 100.0)
TRIES = 3


class Household(RuleBasedStateMachine):
    """Claims, successes, failures, lost claims, kills, cancels and owners' edits in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.db = open_inline(":memory:", SCHEMA)
        self.desk = Desk(self.db, self.clock, Retries(most_tries=TRIES))
        self.sender = FakeSender()
        self.replies = Replies({"server": self.sender})
        self.accepted: list[int] = []
        self.held: list[Task] = []
        self.attempts: Counter[int] = Counter()
        self.owners: set[tuple[int, int]] = set()

    def teardown(self) -> None:
        self.do(self.db.close())
        self.loop.close()

    def do(self, work):
        return self.loop.run_until_complete(work)

    @property
    def now(self) -> str:
        return to_text(self.clock.now())

    @rule(parts=st.integers(1, 3))
    def accept(self, parts: int) -> None:
        asker = Asker("server", f"s/{len(self.accepted)}")
        recording = self.do(self.db.write(lambda c: recordings.begin(c, asker, "T", "A", SETTINGS, self.now)))
        new = [NewTask(number=n, part_key=f"{recording.id}/{n}", samples=1) for n in range(parts)]
        self.do(self.db.write(lambda c: tasks.replace(c, recording.id, new, (), self.now)))
        plan = Plan(hash="h", files=(), chapters=(), gaps=(), parts=(), settings=SETTINGS)
        values = {"id": recording.id, "plan": encode(plan).decode(), "now": self.now}
        self.do(self.db.write(lambda c: c.execute(recordings.SQL["planned"], values).fetchone()))
        self.accepted.append(recording.id)

    @rule(step=st.sampled_from([CONVERT, TRANSCRIBE]), local=st.booleans())
    def claim(self, step: Step, local: bool) -> None:
        holder = f"{LOCAL}1" if local else "worker/1"
        try:
            task = self.do(self.desk.poll(Poll(), step, holder, self.accepted))
        except NoWork:
            return
        assert task.attempt > self.attempts[task.id]
        self.attempts[task.id] = task.attempt
        if task.state != "dead":
            assert task.tries <= TRIES
            self.held.append(task)

    @precondition(lambda self: self.held)
    @rule(
        data=st.data(), how=st.sampled_from(["done", "again", "fail", "wait", "give_back", "uncut", "drop"])
    )
    def end(self, data, how: str) -> None:
        task = data.draw(st.sampled_from(self.held))
        self.held.remove(task)
        match how:
            case "done" if task.state == "created":
                self.do(self.desk.converted(task.claim, "sum", 1))
            case "done":
                self.do(self.desk.heard(task.claim, RESULT, "me"))
            case "again":
                self.do(self.desk.again(task, "no"))
            case "fail":
                self.do(self.desk.fail(task.claim, "no"))
            case "wait":
                self.do(self.desk.wait(task.claim, 15.0))
            case "give_back":
                self.do(self.desk.give_back(task.claim))
            case "uncut":
                self.do(self.desk.uncut(task.claim, "no"))

    @rule()
    def the_bridge_is_killed(self) -> None:
        self.do(self.desk.give_back_all())

    @rule(seconds=st.sampled_from([1.0, 50.0, 101.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.do(self.clock.advance(seconds))

    @precondition(lambda self: self.accepted)
    @rule(data=st.data())
    def the_owner_cancels(self, data) -> None:
        id_ = data.draw(st.sampled_from(self.accepted))
        self.do(self.db.write(lambda c: recordings.cancel(c, id_, self.now)))

    @precondition(lambda self: self.accepted)
    @rule(data=st.data())
    def a_book_that_came_to_its_end_is_settled(self, data) -> None:
        """What a run does when it finds that its parts have ended: write it down, then tell."""
        id_ = data.draw(st.sampled_from(self.accepted))
        counts = self.do(self.db.read(lambda c: tasks.counts(c, id_)))
        is_open = counts.get("created", 0) + counts.get("converted", 0)
        fallen = counts.get("dead", 0) + counts.get("failed", 0)
        ended: object = None
        if not is_open and not fallen:
            ended = self.do(self.db.write(lambda c: recordings.complete(c, id_, self.now)))
        elif fallen and not is_open:
            ended = self.do(self.db.write(lambda c: recordings.fail(c, id_, "no", self.now)))
        if ended is not None:
            self.sender.told.append((f"s/{id_}", ended))  # type: ignore[arg-type]

    @invariant()
    def nothing_is_lost(self) -> None:
        told = {who for who, _ in self.sender.told}
        later_on = to_text(later(self.clock.now(), 10_000))
        for id_ in self.accepted:
            state = self.do(self.db.read(lambda c, i=id_: recordings.state(c, i)))
            assert (f"s/{id_}" in told) == (state in ("done", "failed"))
            for task in self.do(self.db.read(lambda c, i=id_: tasks.of_recording(c, i))):
                if task.state in ("created", "converted"):
                    # It can be had again, if not now then when its claim or its pause is over.
                    assert state == "open"
                    assert (task.claim_ends_at or "") <= later_on
                    assert (task.next_run_at or "") <= later_on
                elif task.state in ("dead", "failed"):
                    assert state in ("open", "failed", "cancelled")
                    assert task.fell_from is not None
                elif task.state == "done":
                    key = task.part_key
                    assert self.do(self.db.write(lambda c, k=key: finished.use(c, [k], self.now))) == {key}
                assert task.tries <= TRIES or task.state == "dead"


@pytest.mark.requirement("P-070")
def test_nothing_that_was_accepted_is_ever_lost():
    run_state_machine_as_test(
        Household, settings=settings(max_examples=40, stateful_step_count=40, deadline=None)
    )
