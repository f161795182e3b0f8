"""Claims and what follows from them, on the store alone."""

import re
import shutil
import sqlite3
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge_agent.base.clock import from_text, later, to_text
from bridge_agent.store import migrations
from bridge_agent.store.database import configure
from bridge_agent.transcription.engines.limits import Limits
from bridge_agent.transcription.model import RATE, EngineInfo, FileSurvey, PartResult, Survey
from bridge_agent.transcription.pipeline import finished, leases, policy, recordings, tasks
from bridge_agent.transcription.pipeline.leases import Wanted
from bridge_agent.transcription.pipeline.opening import SCHEMA
from bridge_agent.transcription.pipeline.policy import LONGEST_PART, Retries
from bridge_agent.transcription.pipeline.recordings import Asker
from bridge_agent.transcription.pipeline.tasks import Asked, Claim, NewTask, Task
from bridge_agent.transcription.planning import plan
from tests.fakes.pipeline import SETTINGS

NOW = datetime(2026, 3, 1, 23, 59, 59, 500_000, tzinfo=UTC)
FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
RESULT = PartResult(
    number=0,
    segments=(),
    language="en",
    engine=EngineInfo(name="e", version="1", model="m", device="cpu", compute_type="int8"),
)


def connect(path: Path | str = ":memory:") -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    configure(connection, "NORMAL", writing=True)
    migrations.apply(connection, SCHEMA)
    return connection


@pytest.fixture
def store():
    connection = connect()
    yield connection
    connection.close()


def plant(c: sqlite3.Connection, count: int = 1, at: datetime = NOW) -> int:
    """Begin a recording with so many parts, as if planned."""
    recording = recordings.begin(c, Asker("server", None), "T", "A", SETTINGS, to_text(at))
    parts = [NewTask(number=n, part_key=f"{recording.id}-{n}", samples=10) for n in range(count)]
    tasks.replace(c, recording.id, parts, (), to_text(at))
    return recording.id


def ask(
    c: sqlite3.Connection,
    *among: int,
    holder: str = "local/1",
    at: datetime = NOW,
    limit_s: float = 60,
    state: tasks.Open = "created",
    most_tries: int = 3,
) -> Task | None:
    asked = Asked(state, among or (1,), holder, None, to_text(at), to_text(later(at, limit_s)), most_tries)
    return tasks.claim(c, asked)


def must(task: Task | None) -> Task:
    assert task is not None
    return task


def one(c: sqlite3.Connection, id_: int = 1) -> Task:
    return must(tasks.one(c, id_))


def after(seconds: float) -> datetime:
    return later(NOW, seconds)


@pytest.mark.requirement("P-010", "P-046")
def test_a_claim_is_one_statement_in_which_the_state_alone_decides():
    query = tasks.SQL["claim"]
    assert query.count("UPDATE") == 1
    assert ";" not in query.rstrip().rstrip(";")
    assert query.rstrip().rstrip(";").endswith("RETURNING *")
    chosen = query[query.index("SELECT id") : query.index("ORDER BY")]
    assert "error" not in chosen
    assert "tries" not in chosen
    schema = connect().execute("SELECT group_concat(sql, ' ') AS sql FROM sqlite_schema").fetchone()["sql"]
    assert "has_error" not in schema


@pytest.mark.requirement("P-011")
def test_of_three_claims_for_one_task_two_find_no_work(tmp_path: Path):
    path = tmp_path / "t.sqlite3"
    connections = [connect(path) for _ in range(3)]
    for _ in range(200):
        id_ = plant(connections[0])
        gate = threading.Barrier(3)
        got: list[Task | None] = []

        def claim(c: sqlite3.Connection, gate: threading.Barrier, got: list[Task | None], id_: int) -> None:
            gate.wait()
            got.append(ask(c, id_))

        threads = [threading.Thread(target=claim, args=(c, gate, got, id_)) for c in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(task is not None for task in got) == 1
        assert len(got) == 3
    for connection in connections:
        connection.close()


@pytest.mark.requirement("P-012")
def test_the_order_is_the_same_in_a_copy_of_the_store(tmp_path: Path):
    path = tmp_path / "t.sqlite3"
    original = connect(path)
    for _ in range(10):
        plant(original, 5)
    original.execute("UPDATE tasks SET number = number")
    original.close()
    shutil.copy(path, tmp_path / "copy.sqlite3")
    orders = []
    for name in ("t.sqlite3", "copy.sqlite3"):
        c = connect(tmp_path / name)
        orders.append([must(ask(c, *range(1, 11))).id for _ in range(50)])
        assert ask(c, *range(1, 11)) is None
        c.close()
    assert orders[0] == orders[1] == list(range(1, 51))


def test_the_owner_s_priority_goes_first(store):
    plant(store, 3)
    store.execute("UPDATE tasks SET priority = 1 WHERE number = 2")
    assert [must(ask(store)).number for _ in range(3)] == [2, 0, 1]


@pytest.mark.requirement("P-013")
def test_a_task_that_is_held_is_not_handed_out(store):
    plant(store)
    assert ask(store) is not None
    assert ask(store, holder="local/2", at=after(59.999)) is None


@pytest.mark.requirement("P-030")
def test_a_task_that_was_dropped_is_handed_out_once_its_claim_is_over(store):
    plant(store)
    first = must(ask(store))
    assert first.claim_ends_at == to_text(after(60))
    second = must(ask(store, holder="local/2", at=after(60)))
    assert (second.id, second.attempt, second.holder) == (first.id, 2, "local/2")


@pytest.mark.requirement("P-020", "P-021")
def test_a_claim_that_was_lost_writes_nothing(store):
    plant(store)
    lost = must(ask(store)).claim
    other = must(ask(store, holder="local/2", at=after(61)))
    now = to_text(after(62))
    writes = [
        tasks.converted(store, lost, "sum", 1, now),
        tasks.heard(store, lost, now),
        tasks.again(store, lost, "no", now, now),
        tasks.fail(store, lost, "no", now),
        tasks.wait(store, lost, now, now),
        tasks.give_back(store, lost, now),
        tasks.uncut(store, lost, "no", now),
        leases.step(store, lost, now, now),
    ]
    assert writes == [None] * len(writes)
    assert one(store) == other
    # Two claims in one tick of the clock and of one name are told apart as well.
    same = Claim(other.id, other.attempt - 1, other.holder or "")
    assert tasks.converted(store, same, "sum", 1, now) is None


STEPS = {
    "converted": lambda c, claim: tasks.converted(c, claim, "sum", 7, to_text(after(5))),
    "again": lambda c, claim: tasks.again(c, claim, "no", to_text(after(9)), to_text(after(5))),
    "wait": lambda c, claim: tasks.wait(c, claim, to_text(after(9)), to_text(after(5))),
    "fail": lambda c, claim: tasks.fail(c, claim, "no", to_text(after(5))),
    "give_back": lambda c, claim: tasks.give_back(c, claim, to_text(after(5))),
}


@pytest.mark.requirement("P-022")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("table", "field", "value"), [("tasks", "priority", 9), ("recordings", "title", "New")]
)
def test_what_the_owner_edits_meanwhile_is_left_alone(store, step, table, field, value):
    plant(store)
    held = must(ask(store))
    store.execute(f"UPDATE {table} SET {field} = ? WHERE id = 1", (value,))
    assert STEPS[step](store, held.claim) is not None
    assert store.execute(f"SELECT {field} AS found FROM {table} WHERE id = 1").fetchone()["found"] == value
    assert one(store).holder is None


@pytest.mark.requirement("P-022")
def test_a_part_that_the_owner_cancels_meanwhile_stays_cancelled(store):
    plant(store)
    held = must(ask(store))
    recordings.cancel(store, 1, to_text(after(1)))
    assert tasks.converted(store, held.claim, "sum", 7, to_text(after(2))) is None
    assert one(store).state == "cancelled"


@pytest.mark.requirement("P-031")
def test_no_claim_is_shorter_than_its_step_may_take():
    worst_cut = policy.LONGEST_FILE_S / policy.SLOWEST_DECODE
    assert policy.convert().limit_s > worst_cut
    for limits in (Limits(), Limits(first_speed=0.1)):
        worst = limits.worst_case(LONGEST_PART, rungs=7)
        step = policy.transcribe(worst)
        # Down the whole ladder, twice: a part that its checks find fault with is heard again.
        assert step.limit_s >= 2 * 7 * limits.deadline(LONGEST_PART, None)


@pytest.mark.requirement("P-031")
def test_the_declared_longest_part_is_one_that_no_plan_exceeds():
    survey = FileSurvey(path="a", size=1, content="c", samples=10 * 3600 * RATE)
    made = plan.make(Survey(files=(survey,), decoder="d"), SETTINGS)
    assert max(part.samples for part in made.parts) <= LONGEST_PART


@pytest.mark.requirement("P-032")
@settings(max_examples=200, deadline=None)
@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),
    st.floats(0.01, 100_000),
    st.floats(-1.5, 1.5),
    st.integers(-14 * 60, 14 * 60),
)
def test_times_are_compared_in_the_form_they_are_written_in(moment, limit_s, off_s, zone_minutes):
    store = connect()
    at = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(minutes=zone_minutes)))
    plant(store, at=at)
    first = must(ask(store, at=at, limit_s=limit_s))
    asked_at = later(at, limit_s + off_s)
    again = ask(store, holder="local/2", at=asked_at)
    assert (again is not None) == (to_text(asked_at) >= to_text(later(at, limit_s)))
    row = store.execute("SELECT * FROM tasks").fetchone()
    written = [row["created_at"], row["updated_at"], first.claimed_at, first.claim_ends_at]
    assert all(FORM.fullmatch(text or "") for text in written)
    store.close()


@pytest.mark.requirement("P-032")
def test_a_pause_is_compared_in_the_same_form_across_midnight(store):
    plant(store)
    held = must(ask(store))
    tasks.again(store, held.claim, "no", to_text(after(1)), to_text(NOW))
    assert ask(store, at=after(0.9)) is None
    assert ask(store, at=after(1.0)) is not None


@pytest.mark.requirement("P-040", "P-042")
def test_a_step_that_kills_its_process_each_time_ends_with_a_dead_part(store):
    plant(store)
    moment = NOW
    for count in range(1, 4):
        task = must(ask(store, at=moment))
        assert (task.state, task.tries) == ("created", count)
        moment = later(moment, 61)
    dead = must(ask(store, at=moment))
    assert (dead.state, dead.tries, dead.attempt, dead.holder, dead.fell_from) == (
        "dead", 4, 4, None, "created",
    )  # fmt: skip
    assert ask(store, at=later(moment, 1000)) is None


@pytest.mark.requirement("P-041")
def test_a_step_that_succeeds_sets_the_count_back(store):
    plant(store)
    for _ in range(2):
        tasks.again(store, must(ask(store)).claim, "no", to_text(NOW), to_text(NOW))
    held = must(ask(store))
    assert held.tries == 3
    assert must(tasks.converted(store, held.claim, "sum", 1, to_text(NOW))).tries == 0
    held = must(ask(store, state="converted"))
    assert held.tries == 1
    done = must(tasks.heard(store, held.claim, to_text(NOW)))
    assert (done.tries, done.attempt) == (0, 4)


@pytest.mark.requirement("P-043")
@pytest.mark.parametrize("state", ["created", "converted"])
def test_the_owner_sets_a_dead_part_back_by_its_state_alone(store, state):
    plant(store)
    if state == "converted":
        tasks.converted(store, must(ask(store)).claim, "sum", 1, to_text(NOW))
    for _ in range(3):
        tasks.again(store, must(ask(store, state=state)).claim, "no", to_text(NOW), to_text(NOW))
    assert must(ask(store, state=state)).state == "dead"
    (dead,) = tasks.in_state(store, "dead")
    back = must(recordings.set_back(store, dead.id, None, to_text(NOW)))
    assert (back.state, back.tries, back.fell_from) == (state, 0, None)
    assert must(ask(store, state=state)).tries == 1


@pytest.mark.requirement("P-043")
def test_a_bare_edit_of_the_state_gives_a_fresh_count_too(store):
    plant(store)
    ask(store, most_tries=1)
    assert must(ask(store, at=after(61), most_tries=1)).state == "dead"
    store.execute("UPDATE tasks SET state = 'created' WHERE state = 'dead'")
    assert (one(store).tries, one(store).attempt) == (0, 2)
    assert must(ask(store, at=after(62), most_tries=1)).state == "created"


@pytest.mark.requirement("P-042", "P-045")
def test_only_the_claim_writes_dead():
    writes = re.compile(r"(?:SET|THEN|,)\s*(?:state = )?'dead'|state\s*=\s*CASE[^;]*'dead'")
    for queries in (tasks.SQL, recordings.SQL, finished.SQL):
        for name in queries.names:
            assert bool(writes.search(queries[name])) == (queries is tasks.SQL and name == "claim"), name
    source = Path(tasks.__file__).parent
    for module in source.glob("*.py"):
        text = module.read_text(encoding="utf-8")
        assert "'dead'" not in text
        assert not re.search(r"state\s*=\s*\"dead\"", text), module


@pytest.mark.requirement("P-045")
def test_a_step_s_verdict_is_failed_and_says_where_it_fell(store):
    plant(store)
    tasks.converted(store, must(ask(store)).claim, "sum", 1, to_text(NOW))
    held = must(ask(store, state="converted"))
    failed = must(tasks.fail(store, held.claim, "refused", to_text(NOW)))
    assert (failed.state, failed.fell_from, failed.error) == ("failed", "converted", "refused")
    assert ask(store, state="converted", at=after(1000)) is None


@pytest.mark.requirement("P-050")
def test_pauses_grow_up_to_the_ceiling():
    retries = Retries(first_pause_s=5, longest_pause_s=300)
    pauses = [retries.pause(tries) for tries in range(1, 100)]
    assert pauses[:4] == [5, 10, 20, 40]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 300
    assert Retries(longest_pause_s=0.2).pause(1) == 0.2


def test_giving_back_lowers_the_tries_and_keeps_the_attempt(store):
    plant(store, 2)
    first, second = must(ask(store)), must(ask(store, holder="worker/7"))
    given = tasks.give_back_all(store, "local/*", to_text(NOW))
    assert [(t.id, t.tries, t.attempt) for t in given] == [(first.id, 0, 1)]
    assert one(store, second.id).holder == "worker/7"
    again = must(ask(store))
    assert (again.id, again.tries, again.attempt) == (first.id, 1, 2)


def test_a_claim_can_be_renewed_and_its_phase_told(store):
    plant(store)
    tasks.converted(store, must(ask(store)).claim, "sum", 1, to_text(NOW))
    held = must(ask(store, holder="worker/7", state="converted"))
    renewed = must(
        leases.step(store, held.claim, to_text(after(500)), to_text(after(50)), phase="downloading")
    )
    assert (renewed.phase, renewed.claimed_at) == ("downloading", held.claimed_at)
    assert ask(store, at=after(400), state="converted") is None


def test_a_pause_ends_at_once_where_the_clock_is_put_back(store):
    plant(store, 2)
    tasks.again(store, must(ask(store)).claim, "no", to_text(after(300)), to_text(NOW))
    tasks.converted(store, must(ask(store)).claim, "sum", 1, to_text(NOW))
    tasks.again(store, must(ask(store, state="converted")).claim, "no", to_text(after(300)), to_text(NOW))
    back = after(-7200)
    assert ask(store, at=after(1)) is None
    assert must(ask(store, at=back)).number == 0
    wanted = Wanted([1], "worker/7", "downloading", to_text(after(1)), to_text(after(60)), 3)
    assert leases.lease(store, wanted, {}) is None
    assert must(leases.lease(store, wanted._replace(now=to_text(back)), {})).number == 1


def test_a_claim_that_has_lapsed_stays_over_where_the_clock_is_put_back(store):
    plant(store)
    held = must(ask(store, holder="worker/7"))
    assert leases.lapse(store, held.claim, to_text(after(30))) is not None
    assert leases.lapse(store, held.claim, to_text(after(30))) is None
    assert must(ask(store, holder="worker/8", at=after(-7200))).attempt == 2


@pytest.mark.parametrize("ahead_s", [0, 86_400])
def test_after_a_start_no_claim_lasts_longer_than_it_was_made_for(store, ahead_s):
    plant(store, 2)
    held = must(ask(store, holder="worker/7", at=after(ahead_s), limit_s=900))
    tasks.from_the_future(store, to_text(NOW))
    assert one(store).claim == held.claim
    ends = one(store).claim_ends_at
    assert ends is not None
    assert FORM.fullmatch(ends)
    assert abs((from_text(ends) - after(900)).total_seconds()) < 0.01
    tasks.from_the_future(store, to_text(NOW))
    assert (one(store).claim_ends_at, one(store, 2).claim_ends_at) == (ends, None)


def test_the_words_and_the_end_of_a_part_are_one_write(store):
    plant(store)
    finished.keep(store, "1-0", RESULT, "a", to_text(NOW))
    finished.keep(store, "1-0", RESULT, "b", to_text(after(5)))
    assert finished.use(store, ["1-0", "1-1"], to_text(NOW)) == {"1-0"}
    assert store.execute("SELECT made_by FROM finished_parts").fetchone()["made_by"] == "a"


def test_the_claim_uses_its_index(store):
    steps = store.execute(
        "EXPLAIN QUERY PLAN " + tasks.SQL["claim"].rstrip().rstrip(";"),
        {
            **Asked("created", (1,), "h", None, to_text(NOW), to_text(NOW), 3)._asdict(),
            "recordings": "[1]",
            "held": "[]",
        },
    ).fetchall()
    assert any("tasks_in_line" in row["detail"] for row in steps), [row["detail"] for row in steps]
