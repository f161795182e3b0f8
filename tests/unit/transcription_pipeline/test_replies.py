"""Replies: sent once, after the end was saved; what can't be delivered changes nothing."""

import logging

import pytest

from bridge_agent.transcription.engines.errors import EngineDied, EngineRefused
from bridge_agent.transcription.pipeline import policy, tasks
from bridge_agent.transcription.pipeline.recordings import Asker, Recording
from bridge_agent.transcription.pipeline.signs import Poll
from tests.fakes.pipeline import Rig

SECRET = "xyzzy-plugh"


async def ended(rig: Rig, sender: str = "server", addressee: str | None = "s/1") -> int:
    """Run a book of one part, its title a secret; return its recording."""
    order = rig.order(rig.book("a"))
    order = type(order)(**{**order.__dict__, "asker": Asker(sender, addressee), "title": SECRET})
    return await rig.do(order)


def records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.endswith("senders")]


async def kept_state(rig: Rig, id_: int) -> tuple[object, ...]:
    recording = await rig.pipeline.get(id_)
    (task,) = await rig.db.read(lambda c: tasks.of_recording(c, id_))
    assert recording is not None
    return recording.state, task.state, task.tries, task.attempt, task.next_run_at


DONE = ("done", "done", 0, 2, None)


async def test_a_recording_that_is_done_is_told_once(rig: Rig, caplog):
    id_ = await ended(rig)
    assert [(who, told.id, told.state) for who, told in rig.sender.told] == [("s/1", id_, "done")]
    assert records(caplog) == []


@pytest.mark.requirement("P-060", "P-061", "P-062", "P-063")
async def test_a_way_that_is_not_open_in_this_start_is_warned_of(rig: Rig, caplog):
    id_ = await ended(rig, sender="telegram")
    assert await kept_state(rig, id_) == DONE
    assert set(rig.pipeline.desk.work) == {("convert", "success"), ("transcribe", "success")}
    (record,) = records(caplog)
    assert record.levelno == logging.WARNING
    assert f"recording {id_}" in record.getMessage()
    assert "not open in this start" in record.getMessage()
    assert rig.pipeline.replies.undelivered == {"not_running": 1}


@pytest.mark.requirement("P-061", "P-062", "P-063")
async def test_a_nameless_addressee_is_an_error(rig: Rig, caplog):
    id_ = await ended(rig, addressee=None)
    assert await kept_state(rig, id_) == DONE
    (record,) = records(caplog)
    assert record.levelno == logging.ERROR
    assert f"recording {id_}" in record.getMessage()
    assert rig.pipeline.replies.undelivered == {"no_addressee": 1}


@pytest.mark.requirement("P-064", "P-066")
async def test_what_was_not_told_stays_untold_and_changes_nothing(rig: Rig):
    rig.sender.running = False
    id_ = await ended(rig)
    assert await kept_state(rig, id_) == DONE
    rig.sender.running = True
    await rig.pipeline.start()
    await rig.pipeline.forget_old()
    await rig.pass_time(100_000)
    assert rig.sender.told == []
    assert rig.pipeline.replies.undelivered == {"not_running": 1}


@pytest.mark.requirement("P-064")
async def test_the_end_is_saved_before_it_is_told(rig: Rig):
    seen: list[str] = []

    async def send(addressee: str, told: Recording) -> None:
        recording = await rig.pipeline.get(told.id)
        assert recording is not None
        seen.append(recording.state)
        raise SystemError("killed between saving and telling")

    rig.sender.send = send  # type: ignore[method-assign]
    id_ = await ended(rig)
    assert seen == ["done"]
    assert await kept_state(rig, id_) == DONE
    assert rig.pipeline.replies.undelivered == {"failed": 1}


@pytest.mark.requirement("P-065")
@pytest.mark.parametrize(("sender", "addressee"), [("telegram", "c/1"), ("server", None)])
async def test_neither_words_nor_titles_stand_in_the_record(rig: Rig, caplog, sender, addressee):
    caplog.set_level(logging.DEBUG)
    await ended(rig, sender, addressee)
    assert records(caplog)
    assert SECRET not in caplog.text
    assert "worda" not in caplog.text


@pytest.mark.requirement("P-065")
async def test_what_a_sender_raises_is_not_repeated(rig: Rig, caplog):
    async def send(addressee: str, told: Recording) -> None:
        raise RuntimeError(f"could not send {told.title}")

    rig.sender.send = send  # type: ignore[method-assign]
    await ended(rig)
    assert SECRET not in caplog.text
    assert "RuntimeError" in records(caplog)[0].getMessage()


@pytest.mark.requirement("P-067")
async def test_who_waits_for_no_reply_gets_none_and_no_record(rig: Rig, caplog):
    id_ = await ended(rig, sender="none", addressee=None)
    assert await kept_state(rig, id_) == DONE
    assert records(caplog) == []
    assert not rig.pipeline.replies.undelivered


@pytest.mark.requirement("P-044", "P-042")
@pytest.mark.parametrize("how", ["dead", "failed"])
async def test_a_part_that_died_is_told_as_one_that_failed(rig: Rig, how):
    said = "The engine gave up; choose another model."
    rig.executor.always_fail[0] = EngineDied(said) if how == "dead" else EngineRefused(said)
    id_ = await ended(rig)
    (task,) = await rig.db.read(lambda c: tasks.of_recording(c, id_))
    assert task.state == how
    ((addressee, told),) = rig.sender.told
    assert (addressee, told.state) == ("s/1", "failed")
    assert "The engine gave up; choose another model." in (told.error or "")
    assert rig.executor.begun[0] == (3 if how == "dead" else 1)


@pytest.mark.requirement("P-021", "P-044")
async def test_of_two_claims_of_one_part_only_the_holder_s_end_is_told(rig: Rig):
    id_, running = await rig.start(rig.order(rig.book("a")))
    await rig.until(lambda: rig.executor.at_work)
    (held,) = await rig.db.read(lambda c: tasks.of_recording(c, id_))
    # Somebody takes the part over while the first one still works on it.
    await rig.db.write(lambda c: c.execute("UPDATE tasks SET claim_ends_at = '2000'"))
    other = await rig.pipeline.desk.poll(Poll(), policy.transcribe(900), "worker/7", {id_})
    assert (other.id, other.attempt) == (held.id, held.attempt + 1)
    # Whoever lost it stops; what it would have written is tried by hand.
    await rig.until(lambda: not rig.executor.at_work)
    assert rig.executor.heard[0] == 0
    assert await rig.pipeline.desk.heard(held.claim, (await _any_result(rig)).result, "fake") is None
    await rig.pass_time(5)
    assert rig.sender.told == []
    assert not running.done()
    result = (await _any_result(rig, "again")).result
    await rig.pipeline.desk.heard(other.claim, result, "attic")
    await rig.finish(running)
    assert [told.state for _, told in rig.sender.told] == ["done"]
    (part,) = (await rig.pipeline.results(id_)).parts
    assert part.made_by == "attic"


async def _any_result(rig: Rig, name: str = "other"):
    """Return the result of some other book's part."""
    other = Rig(rig.folder / name, rig.clock) if (rig.folder / name).mkdir() is None else rig
    id_ = await other.do(other.order(other.book("a")))
    return (await other.pipeline.results(id_)).parts[0]
