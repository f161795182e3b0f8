"""A book's way through the pipeline, on stand-ins and a clock that a test moves."""

import asyncio
import threading

import pytest

from bridge_agent.base.clock import later, to_text
from bridge_agent.base.threads import TooManyStuck, in_thread
from bridge_agent.transcription.audio.errors import (
    AudioAway,
    AudioChanged,
    DecoderDied,
    DecoderUnavailable,
    NoRoom,
)
from bridge_agent.transcription.engines.errors import EngineDied, EngineUnavailable, OutOfMemory
from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.models.errors import DownloadFailed
from bridge_agent.transcription.pipeline import tasks, troubles
from bridge_agent.transcription.pipeline.pipeline import NothingToHear
from bridge_agent.transcription.pipeline.troubles import Trouble
from tests.fakes.pipeline import FakeExecutor, Rig


async def states(rig: Rig, id_: int) -> list[str]:
    return [task.state for task in await rig.db.read(lambda c: tasks.of_recording(c, id_))]


async def words(rig: Rig, id_: int) -> list[str]:
    results = await rig.pipeline.results(id_)
    return [part.result.segments[0].text.split()[0] for part in results.parts]


@pytest.mark.requirement("P-071")
async def test_parts_go_from_created_over_converted_to_done_and_leave_nothing_behind(rig: Rig):
    seen: dict[int, list[str]] = {}
    rig.pipeline.desk.moved.append(lambda task: seen.setdefault(task.number, []).append(task.state))
    id_ = await rig.do(rig.order(rig.book("abc", "de")))
    assert await words(rig, id_) == ["worda", "wordb", "wordc", "wordd", "worde"]
    assert set(map(tuple, seen.values())) == {("created", "converted", "converted", "done")}
    assert rig.decoder.open_streams == 0
    await rig.until(lambda: not list((rig.folder / "cut" / str(id_)).iterdir()))
    assert [told.state for _, told in rig.sender.told] == ["done"]


async def test_each_file_is_read_once_in_order_to_cut_it(rig: Rig):
    await rig.do(rig.order(rig.book("abcdef", "ghi")))
    assert rig.decoder.surveyed == ["book/00.txt", "book/01.txt"]
    assert rig.decoder.opened == [[0, 1, 2, 3, 4, 5], [6, 7, 8]]
    assert rig.decoder.cuts == list(range(9))


async def test_only_a_few_parts_lie_cut_on_disk(tmp_path, clock):
    rig = Rig(tmp_path, clock, executors=[FakeExecutor(clock, places=2, seconds=20)])
    id_, running = await rig.start(rig.order(rig.book("abcdefghijklmnop")))
    most = 0
    while not running.done():
        await rig.pass_time(1)
        found = await rig.db.read(lambda c: tasks.of_recording(c, id_))
        most = max(most, sum(task.state == "converted" for task in found))
    await running
    assert most == 4
    assert rig.executor.most_at_work == 2


async def test_a_second_run_of_the_same_settings_uses_what_is_finished(rig: Rig):
    files = rig.book("abcd")
    rig.executor.always_fail[2] = EngineDied()
    first = await rig.do(rig.order(files, "s/1"))
    assert (await states(rig, first)).count("done") == 3
    rig.executor.always_fail.clear()
    second = await rig.do(rig.order(files, "s/2"))
    assert await words(rig, second) == ["worda", "wordb", "wordc", "wordd"]
    assert dict(rig.executor.heard) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert (await rig.pipeline.results(second)).reused == 3
    assert rig.decoder.surveyed == ["book/00.txt"]


async def test_a_run_apart_uses_its_own_parts_only(rig: Rig):
    files = rig.book("abcd")
    await rig.do(rig.order(files, "s/1"))
    order = rig.order(files, "s/2")
    apart = type(order)(**{**order.__dict__, "apart": "s/2"})
    id_, running = await rig.start(apart)
    await rig.until(lambda: rig.executor.heard[1] == 2)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    again, running = await rig.start(apart)
    await rig.finish(running)
    assert again == id_
    assert dict(rig.executor.heard) == dict.fromkeys(range(4), 2)


async def test_finished_parts_go_when_the_book_is_done_unless_another_uses_them(rig: Rig):
    files = rig.book("ab")
    first = await rig.do(rig.order(files, "s/1"))
    second = await rig.do(rig.order(files, "s/2"))
    await rig.pipeline.close(first)
    assert await words(rig, second) == ["worda", "wordb"]
    await rig.pipeline.close(second)
    third = await rig.do(rig.order(files, "s/3"))
    assert dict(rig.executor.heard) == {0: 2, 1: 2}
    assert sorted(p.name for p in (rig.folder / "cut").iterdir()) == [str(third)]
    # Who did what is known for a day, so that a last call that is repeated is answered as the first time.
    assert await states(rig, first) == ["done", "done"]
    await rig.clock.advance(86_401)
    await rig.pipeline.forget_old()
    assert await rig.pipeline.get(first) is None


async def test_what_nobody_came_back_for_goes_after_30_days(rig: Rig):
    files = rig.book("ab")
    rig.executor.always_fail[1] = EngineDied()
    first = await rig.do(rig.order(files, "s/1"))
    await rig.clock.advance(29 * 86_400)
    await rig.pipeline.forget_old()
    assert await rig.pipeline.get(first) is not None
    await rig.clock.advance(2 * 86_400)
    await rig.pipeline.forget_old()
    assert await rig.pipeline.get(first) is None
    rig.executor.always_fail.clear()
    await rig.do(rig.order(files, "s/2"))
    assert dict(rig.executor.heard) == {0: 2, 1: 1}
    assert len(rig.decoder.surveyed) == 2


@pytest.mark.parametrize("how", ["failed", "cancelled", "forgotten"])
async def test_nothing_is_remembered_of_a_book_that_nobody_comes_back_for(rig: Rig, how: str):
    if how == "failed":
        rig.executor.always_fail[1] = EngineDied()
    id_, running = await rig.start(rig.order(rig.book("ab")))
    if how == "cancelled":
        await rig.until(lambda: rig.executor.at_work)
        await rig.pipeline.cancel(id_)
    await rig.finish(running)
    if how == "forgotten":
        await rig.pipeline.results(id_)
        await rig.clock.advance(90_000)
        await rig.pipeline.forget_old()
        await rig.pipeline.begin(rig.order(rig.book("ab"), "s/2"))
    assert rig.pipeline.view(id_) is None


async def test_a_book_that_has_been_done_for_a_day_lets_its_parts_go(rig: Rig):
    first = await rig.do(rig.order(rig.book("ab"), "s/1"))
    await rig.pipeline.forget_old()
    assert await rig.pipeline.get(first) is not None
    await rig.clock.advance(90_000)
    await rig.pipeline.forget_old()
    assert await rig.pipeline.get(first) is None
    await rig.do(rig.order(rig.book("ab"), "s/2"))
    assert dict(rig.executor.heard) == {0: 2, 1: 2}


async def test_a_changed_file_is_planned_anew_and_parts_of_the_others_are_kept(rig: Rig):
    files = rig.book("ab", "cd")
    id_, running = await rig.start(rig.order(files))
    await rig.until(lambda: rig.executor.heard[2] == 1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    files[1].path.write_text("cxy")
    again, running = await rig.start(rig.order(files))
    await rig.finish(running)
    assert again == id_
    assert await words(rig, id_) == ["worda", "wordb", "wordc", "wordx", "wordy"]
    assert rig.executor.heard[0] == rig.executor.heard[1] == 1
    assert rig.decoder.surveyed == ["book/00.txt", "book/01.txt", "book/01.txt"]


async def test_a_file_that_changes_under_the_run_is_read_again(rig: Rig):
    files = rig.book("abc")
    rig.decoder.fail_cut[2] = [AudioChanged()]
    id_, running = await rig.start(rig.order(files))
    # Cutting ahead meets the change before anything else is done.
    files[0].path.write_text("abx")
    await rig.finish(running)
    assert await words(rig, id_) == ["worda", "wordb", "wordx"]


async def test_a_full_disk_stops_the_cutting_until_there_is_room(rig: Rig, monkeypatch):
    monkeypatch.setattr(troubles, "_has_room", lambda folder: True)
    rig.decoder.fail_cut[3] = [NoRoom()]
    id_, running = await rig.start(rig.order(rig.book("abcdef")))
    # The trouble is over by itself after a few seconds, before all that is cut is heard.
    await rig.finish(running)
    assert (await states(rig, id_)).count("done") == 6
    found = await rig.db.read(lambda c: tasks.of_recording(c, id_))
    assert [task.attempt for task in found] == [2, 2, 2, 3, 2, 2]


async def test_a_full_disk_that_stays_full_is_told_once_all_that_is_cut_is_heard(rig: Rig, monkeypatch):
    full = [True]
    real = troubles._has_room
    monkeypatch.setattr(troubles, "_has_room", lambda folder: not full[0] and real(folder))
    rig.decoder.fail_cut[3] = [NoRoom()]
    id_, running = await rig.start(rig.order(rig.book("abcdef")))
    with pytest.raises(Trouble, match="free some room on the disk") as caught:
        await rig.finish(running)
    assert await states(rig, id_) == ["done"] * 3 + ["created"] * 3
    assert rig.sender.told == []
    waiting = asyncio.create_task(caught.value.mended(rig.clock))
    await rig.pass_time(60)
    assert not waiting.done()
    full[0] = False
    await rig.finish(waiting)
    again, running = await rig.start(rig.order(rig.book("abcdef")))
    await rig.finish(running)
    assert again == id_
    assert dict(rig.executor.heard) == dict.fromkeys(range(6), 1)


async def test_a_library_that_goes_away_in_the_middle_stops_the_book_until_it_is_seen(rig: Rig):
    files = rig.book("abcdefgh")
    id_, running = await rig.start(rig.order(files))
    await rig.until(lambda: rig.executor.heard[0] == 1)
    (rig.folder / "book").rename(rig.folder / "gone")
    with pytest.raises(Trouble, match="check that its drive is connected") as caught:
        await rig.finish(running)
    waiting = asyncio.create_task(caught.value.mended(rig.clock))
    await rig.pass_time(60)
    assert not waiting.done()
    (rig.folder / "gone").rename(rig.folder / "book")
    await rig.finish(waiting)
    again, running = await rig.start(rig.order(files))
    await rig.finish(running)
    assert again == id_
    assert dict(rig.executor.heard) == dict.fromkeys(range(8), 1)
    assert {task.tries for task in await rig.db.read(lambda c: tasks.of_recording(c, id_))} == {0}


async def test_a_library_that_is_not_seen_at_the_start_is_a_trouble_too(rig: Rig):
    files = rig.book("ab")
    rig.decoder.fail_survey = [AudioAway("“00.txt” can't be read; connect its drive.")]
    _, running = await rig.start(rig.order(files))
    with pytest.raises(Trouble, match="connect its drive"):
        await rig.finish(running)


async def test_an_engine_that_is_away_is_waited_for_then_told(rig: Rig):
    rig.executor.always_fail = dict.fromkeys(range(4), EngineUnavailable("The server is away; start it."))
    rig.executor.info_fails = []
    id_, running = await rig.start(rig.order(rig.book("ab")))
    began = rig.clock.monotonic()
    rig.executor.info = _unavailable(rig.executor.info, 1)
    with pytest.raises(Trouble, match="The server is away"):
        await rig.finish(running)
    assert rig.clock.monotonic() - began >= 60
    assert {task.tries for task in await rig.db.read(lambda c: tasks.of_recording(c, id_))} == {0}


def _unavailable(info, answers: int):
    calls = [0]

    async def fail(model, download):
        calls[0] += 1
        if calls[0] > answers:
            raise EngineUnavailable
        return await info(model, download)

    return fail


async def test_a_model_that_cannot_be_had_is_a_trouble_that_ends_when_it_can(rig: Rig):
    rig.executor.info_fails = [DownloadFailed(), DownloadFailed(), DownloadFailed()]
    _, running = await rig.start(rig.order(rig.book("ab")))
    with pytest.raises(Trouble, match="could not be downloaded") as caught:
        await rig.finish(running)
    waited = await rig.finish(asyncio.create_task(caught.value.mended(rig.clock)))
    assert waited >= 10


async def test_a_book_that_finds_nobody_waits_until_somebody_comes(rig: Rig):
    rig.executor.places = 0
    rig.executor.why = "This machine leaves all speech to workers; invite one."
    _, running = await rig.start(rig.order(rig.book("ab")))
    with pytest.raises(Trouble, match="invite one") as caught:
        await rig.finish(running)
    waiting = asyncio.create_task(caught.value.mended(rig.clock))
    await rig.pass_time(30)
    assert not waiting.done()
    rig.executor.places = 1
    await rig.finish(waiting)


async def test_a_book_whose_last_listener_goes_away_while_it_is_read_waits(rig: Rig):
    survey = rig.decoder.survey

    async def slow(*args, **kwargs):
        rig.executor.places = 0
        return await survey(*args, **kwargs)

    rig.decoder.survey = slow  # type: ignore[method-assign]
    _, running = await rig.start(rig.order(rig.book("ab"), language=None))
    with pytest.raises(Trouble, match="invite a worker"):
        await rig.finish(running)


@pytest.mark.parametrize("error", [EngineDied(), OutOfMemory(), TooManyStuck(), OSError("gone")])
async def test_a_look_that_fails_does_not_end_the_wait_for_what_is_to_be_mended(rig: Rig, caplog, error):
    looks: list[Exception] = [error, error]

    async def look() -> bool:
        if looks:
            raise looks.pop()
        return True

    waiting = asyncio.create_task(Trouble("The engine is away; start it.", look).mended(rig.clock))
    assert await rig.finish(waiting) == 15
    assert caplog.text.count("start it.") == 1


async def test_who_is_there_is_looked_up_on_the_event_loop_alone(rig: Rig):
    threads = set()
    executor = rig.executor

    class Watched(FakeExecutor):
        @property
        def places(self) -> int:
            threads.add(threading.get_ident())
            return executor.places

        @places.setter
        def places(self, places: int) -> None:
            pass

    class Threaded:
        def __init__(self, db) -> None:
            self.write = db.write
            self.db = db

        async def read(self, unit):
            return await in_thread(lambda: asyncio.run(self.db.read(unit)))

    rig.executors[:] = [Watched(rig.clock)]
    object.__setattr__(rig.pipeline._tools, "db", Threaded(rig.db))
    await rig.do(rig.order(rig.book("ab")))
    assert threads == {threading.get_ident()}


async def test_a_part_that_falls_fails_the_book_and_the_rest_is_kept(rig: Rig):
    rig.executor.always_fail[1] = EngineDied("The engine's process ended; choose a smaller model.")
    id_ = await rig.do(rig.order(rig.book("abcd")))
    recording = await rig.pipeline.get(id_)
    assert recording is not None
    assert recording.state == "failed"
    assert recording.error == (
        "The part of “A Book” from 2:30 to 5:00 could not be transcribed after 3 tries: The engine's process "
        "ended; choose a smaller model. The 3 finished of 4 parts are kept; queue the job anew to go on from "
        "them."
    )
    assert await states(rig, id_) == ["done", "dead", "done", "done"]
    assert rig.executor.begun[1] == 3


async def test_when_three_parts_in_a_row_fall_the_rest_is_not_tried(rig: Rig):
    rig.executor.always_fail = dict.fromkeys(range(9), EngineDied())
    id_ = await rig.do(rig.order(rig.book("abcdefghi")))
    found = await states(rig, id_)
    assert found.count("dead") == 3
    assert set(found[3:]) == {"cancelled"}


async def test_a_cancel_ends_the_run_and_keeps_what_is_finished(rig: Rig):
    id_, running = await rig.start(rig.order(rig.book("abcd")))
    await rig.until(lambda: rig.executor.heard[0] == 1)
    await rig.pipeline.cancel(id_)
    await rig.finish(running)
    assert set((await states(rig, id_))[1:]) == {"cancelled"}
    assert rig.executor.at_work == 0
    await rig.do(rig.order(rig.book("abcd"), "s/2"))
    assert rig.executor.heard[0] == 1


@pytest.mark.requirement("P-071")
async def test_a_run_that_is_cancelled_gives_all_claims_back_uncounted(rig: Rig):
    id_, running = await rig.start(rig.order(rig.book("abcdef")))
    await rig.until(lambda: rig.executor.at_work)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert rig.executor.at_work == 0
    assert rig.decoder.open_streams == 0
    found = await rig.db.read(lambda c: tasks.of_recording(c, id_))
    assert {task.holder for task in found} == {None}
    assert {task.tries for task in found} == {0}
    assert found[0].attempt == 2


async def test_cut_audio_that_is_damaged_or_gone_is_cut_again(rig: Rig):
    id_, running = await rig.start(rig.order(rig.book("abcdef")))
    await rig.until(lambda: len(rig.decoder.cuts) == 3 and rig.executor.at_work)
    (rig.folder / "cut" / str(id_) / "1.flac").write_bytes(b"?")
    (rig.folder / "cut" / str(id_) / "2.flac").unlink()
    await rig.finish(running)
    assert await words(rig, id_) == [f"word{letter}" for letter in "abcdef"]
    assert rig.decoder.cuts.count(1) == rig.decoder.cuts.count(2) == 2


async def test_a_decoder_that_dies_is_tried_again(rig: Rig):
    rig.decoder.fail_cut[1] = [DecoderDied(), DecoderDied()]
    id_ = await rig.do(rig.order(rig.book("abc")))
    assert await words(rig, id_) == ["worda", "wordb", "wordc"]


async def test_a_start_takes_no_claim_of_a_clock_that_was_ahead_for_longer_than_it_was(rig: Rig):
    id_, running = await rig.start(rig.order(rig.book("ab")))
    await rig.until(lambda: rig.executor.at_work)
    await rig.die(running)
    rig.clock.set_wall(-86_400)
    await rig.db.write(lambda c: c.execute("UPDATE tasks SET holder = 'worker/7' WHERE holder IS NOT NULL"))
    await rig.pipeline.start()
    (held,) = [t for t in await rig.db.read(lambda c: tasks.of_recording(c, id_)) if t.holder]
    assert held.updated_at == to_text(rig.clock.now())
    assert held.claim_ends_at is not None
    assert held.claim_ends_at < to_text(later(rig.clock.now(), 43_200))


async def test_a_process_that_dies_goes_on_where_it_was(rig: Rig):
    files = rig.book("abcdef")
    id_, running = await rig.start(rig.order(files))
    await rig.until(lambda: rig.executor.heard[1] == 1 and rig.executor.at_work)
    await rig.die(running)
    held = [t for t in await rig.db.read(lambda c: tasks.of_recording(c, id_)) if t.holder]
    assert held
    await rig.pipeline.start()
    again, running = await rig.start(rig.order(files))
    await rig.finish(running)
    assert again == id_
    assert await words(rig, id_) == [f"word{letter}" for letter in "abcdef"]
    assert sum(rig.executor.heard.values()) == 6
    assert (await rig.pipeline.results(id_)).reused == 2
    assert len(rig.decoder.surveyed) == 1


async def test_the_language_is_heard_once_and_remembered(rig: Rig):
    files = rig.book("ab", "cd")
    rig.executor.languages = [{"de": 0.9, "en": 0.1}, {"de": 0.8, "en": 0.2}]
    id_ = await rig.do(rig.order(files, language=None))
    assert {context.language for context in rig.executor.contexts} == {"de"}
    recording = await rig.pipeline.get(id_)
    assert recording is not None
    assert recording.plan is not None
    assert recording.plan.settings.language == "de"
    await rig.do(rig.order(files, "s/2", language=None))
    assert rig.executor.languages == []
    assert sum(rig.executor.heard.values()) == 4


async def test_a_language_that_is_not_sure_is_flagged(rig: Rig):
    rig.executor.languages = [{"de": 0.5, "en": 0.5}]
    id_ = await rig.do(rig.order(rig.book("ab"), language=None))
    results = await rig.pipeline.results(id_)
    assert {part.result.flags for part in results.parts} == {("unsure_language",)}


async def test_where_no_sample_tells_a_language_each_part_is_heard_as_it_seems(rig: Rig):
    rig.executor.languages = [{}, {}]
    id_ = await rig.do(rig.order(rig.book("ab", "cd"), language=None))
    assert {context.language for context in rig.executor.contexts} == {None}
    results = await rig.pipeline.results(id_)
    assert {part.result.flags for part in results.parts} == {()}


async def test_an_engine_that_goes_away_while_the_language_is_listened_for_is_a_trouble(rig: Rig):
    async def away(path: object, model: str) -> dict[str, float]:
        raise EngineUnavailable("The server is away; start it.")

    rig.executor.detect_language = away  # type: ignore[method-assign]
    _, running = await rig.start(rig.order(rig.book("ab"), language=None))
    with pytest.raises(Trouble, match="The server is away"):
        await rig.finish(running)


async def test_a_machine_without_a_decoder_waits_for_one(rig: Rig, monkeypatch):
    missing = [True]
    name = rig.decoder.name

    async def named() -> str:
        if missing[0]:
            raise DecoderUnavailable
        return await name()

    rig.decoder.name = named  # type: ignore[method-assign]
    _, running = await rig.start(rig.order(rig.book("ab")))
    with pytest.raises(
        Trouble, match=r"install it with pip install 'audiobook-bridge-agent\[speech\]'"
    ) as caught:
        await rig.finish(running)
    waiting = asyncio.create_task(caught.value.mended(rig.clock))
    await rig.pass_time(30)
    assert not waiting.done()
    missing[0] = False
    await rig.finish(waiting)


async def test_cut_audio_of_a_book_left_alone_for_a_day_goes_and_is_cut_again(rig: Rig):
    files = rig.book("abcdef")
    id_, running = await rig.start(rig.order(files))
    await rig.until(lambda: rig.executor.heard[0] == 1 and rig.executor.at_work)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await rig.pipeline.forget_old()
    assert (rig.folder / "cut" / str(id_)).exists()
    await rig.clock.advance(90_000)
    await rig.pipeline.forget_old()
    assert not (rig.folder / "cut" / str(id_)).exists()
    again, running = await rig.start(rig.order(files))
    await rig.finish(running)
    assert again == id_
    assert await words(rig, id_) == [f"word{letter}" for letter in "abcdef"]
    assert rig.executor.heard[0] == 1


async def test_files_that_cannot_be_read_are_warned_of(rig: Rig):
    id_ = await rig.do(rig.order(rig.book("ab", "")))
    assert (await rig.pipeline.results(id_)).warnings == (
        "1 of 2 files could not be read; the rest is transcribed.",
        "“book/01.txt” is empty; copy or download it again.",
    )


async def test_a_book_with_nothing_to_hear_says_why(rig: Rig):
    _, running = await rig.start(rig.order(rig.book("")))
    with pytest.raises(NothingToHear, match="is empty; copy or download it again"):
        await rig.finish(running)


async def test_progress_tells_its_steps_and_seconds_of_audio(rig: Rig):
    await rig.do(rig.order(rig.book("abcdef")))
    steps = [step for step, *_ in rig.said]
    assert list(dict.fromkeys(steps)) == ["probe", "plan", "transcribe"]
    assert ("probe", "Reading the audio", None, None) in rig.said
    assert ("plan", "Finding the pauses", 450.0, 900.0) in rig.said
    done = [said[2] for said in rig.said if said[0] == "transcribe"]
    assert done == sorted(done)
    assert {said[3] for said in rig.said if said[0] == "transcribe"} == {900.0}
    assert any("15.0 times as fast as it is read, about 1 min left" in said[1] for said in rig.said)


async def test_words_so_far_are_there_for_the_page(rig: Rig):
    id_, running = await rig.start(rig.order(rig.book("ab")))
    await rig.until(lambda: (rig.pipeline.view(id_) or {})["words"])
    view = rig.pipeline.view(id_)
    assert view is not None
    assert view["words"].startswith(" worda worda")
    assert view["total_seconds"] == 300.0
    await rig.finish(running)


async def test_speeds_are_remembered_for_the_next_book(rig: Rig):
    await rig.do(rig.order(rig.book("abcd")))
    id_, running = await rig.start(rig.order(rig.book("efgh", name="other"), "s/2"))
    await rig.until(lambda: rig.executor.begun[0] == 2)
    view = rig.pipeline.view(id_)
    assert view is not None
    assert view["speed"] == pytest.approx(15, rel=0.1)
    assert view["left_seconds"] == pytest.approx(40, abs=6)
    await rig.finish(running)


async def test_a_faster_executor_hears_more_and_the_book_ends_soon(tmp_path, clock):
    fast, slow = FakeExecutor(clock, "fast", seconds=10), FakeExecutor(clock, "slow", seconds=100)
    rig = Rig(tmp_path, clock, executors=[fast, slow])
    _, running = await rig.start(rig.order(rig.book("abcdefghijklmnopqrst" * 2)))
    took = await rig.finish(running)
    assert sum(fast.heard.values()) > 5 * sum(slow.heard.values()) > 0
    assert took < 40 * 10


async def test_samples_are_whole_and_contexts_the_same_for_everybody(rig: Rig):
    await rig.do(rig.order(rig.book("ab"), prompt="Frodo, Sam\nBree", hotwords=("Sam", "Tolkien")))
    context = rig.executor.contexts[0]
    assert context.hints == ("Frodo", "Sam", "Bree", "Tolkien")
    seeds = [each.seed for each in rig.executor.contexts]
    assert len(set(seeds)) == 2
    assert RATE == 16_000
