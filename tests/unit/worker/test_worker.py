"""The worker's way through, and its ends."""

import asyncio
import hashlib
import json
import logging

import pytest

from bridge_agent.base.errors import ExitCode
from bridge_agent.base.hours import Hours
from bridge_agent.transcription.engines.errors import EngineDied, EngineUnavailable
from bridge_agent.transcription.model import RATE
from bridge_agent.worker.errors import TokenRefused
from tests.unit.worker.rig import Rig, audio


async def test_parts_are_claimed_heard_and_handed_in(rig: Rig):
    tasks = [rig.bridge.add(audio(f"part{n}"), language="en", hints=["Ahab"], seed=7) for n in range(3)]
    await rig.start(idle_exit=True)
    assert await rig.ends() is ExitCode.DONE
    assert [task.status for task in tasks] == ["completed"] * 3
    assert {task.attempt for task in tasks} == {1}
    context = rig.pool.contexts[0]
    assert (context.language, context.hints, context.seed, context.model) == ("en", ("Ahab",), 7, "")
    assert rig.kept == []
    assert list((rig.folder / "audio").iterdir()) == []
    registered = next(iter(rig.bridge.workers.values()))
    assert (registered["name"], registered["capabilities"]) == ("gpu", ["transcribe", "transcribe:scripted"])


async def test_a_partial_gives_back_every_sample_and_says_who_heard_it(rig: Rig):
    task = rig.bridge.add(audio("hello", 12.3))
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.DONE
    partial = task.partial
    segment = partial["segments"][0]
    samples = len(task.content) // 2
    assert round(segment["start"] * RATE) == 1
    assert round(segment["words"][0]["end"] * RATE) == samples - 7
    assert segment["avg_logprob"] == -1 / 3
    assert segment["words"][0]["probability"] == 0.123456789
    assert partial["engine"] == {
        "name": "scripted", "model": "scripted", "device": "cpu", "compute_type": "int8", "version": "1"
    }  # fmt: skip
    assert (partial["flags"], partial["language"]) == (["rerun"], "en")
    assert round(partial["speech_seconds"] * RATE) == samples


async def test_without_a_seed_the_chance_follows_from_the_audio(rig: Rig):
    task = rig.bridge.add(audio("x"), prompt="Ahab, Ishmael\nAhab")
    await rig.start(once=True)
    await rig.ends()
    context = rig.pool.contexts[0]
    assert context.seed == int(hashlib.sha256(task.content).hexdigest()[:8], 16)
    assert context.hints == ("Ahab", "Ishmael")


async def test_the_first_beat_comes_before_the_audio_and_the_result_last(rig: Rig):
    rig.bridge.add(audio("x"))
    await rig.start(once=True)
    await rig.ends()
    names = [name for _, name in rig.bridge.calls]
    assert names[:4] == ["register", "claim", "heartbeat", "input"]
    assert names[-2:] == ["put", "result"]


async def test_the_next_part_is_here_before_the_engine_is_free(rig: Rig):
    tasks = [rig.bridge.add(audio(f"part{n}")) for n in range(4)]
    rig.pool.hold.clear()
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("input") == 2)
    assert [task.status for task in tasks[2:]] == ["pending", "pending"]
    assert (len(rig.pool.contexts), rig.pool.most_at_once) == (1, 1)
    rig.pool.hold.set()
    await rig.bridge.until(lambda: rig.bridge.done() == 4)
    assert rig.pool.most_at_once == 1
    assert rig.bridge.most_leased <= 3


async def test_as_many_parts_are_heard_at_once_as_there_are_places(rig: Rig):
    rig.pool.size = 3
    for n in range(6):
        rig.bridge.add(audio(f"part{n}"))
    rig.pool.hold.clear()
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("input") == 4 and rig.pool.at_once == 3)
    rig.pool.hold.set()
    await rig.bridge.until(lambda: rig.bridge.done() == 6)
    assert rig.pool.most_at_once == 3


async def test_the_first_signal_ends_what_is_heard_and_gives_back_what_is_not(rig: Rig):
    tasks = [rig.bridge.add(audio(f"part{n}")) for n in range(3)]
    rig.pool.hold.clear()
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("input") == 2)
    assert rig.worker is not None
    rig.worker.drain()
    await rig.bridge.until(lambda: rig.bridge.count("failure") == 1)
    assert not rig.running.done()  # type: ignore[union-attr]
    rig.pool.hold.set()
    assert await rig.ends() is ExitCode.DONE
    assert [task.status for task in tasks] == ["completed", "pending", "pending"]
    given_back = tasks[1].failures[0]
    assert (given_back["error_code"], given_back["retryable"]) == ("given_back", True)


async def test_the_second_signal_frees_the_engine_and_gives_everything_back(rig: Rig):
    tasks = [rig.bridge.add(audio(f"part{n}")) for n in range(2)]
    rig.pool.hold.clear()
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("input") == 2)
    assert rig.worker is not None
    rig.worker.drain()
    rig.worker.give_up()
    assert await rig.ends() is ExitCode.DONE
    assert rig.pool.let_go == 1
    assert [task.status for task in tasks] == ["pending", "pending"]
    assert [task.failures[0]["error_code"] for task in tasks] == ["given_back"] * 2


async def test_once_takes_one_part_and_without_work_says_try_later(rig: Rig):
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.TRY_LATER
    tasks = [rig.bridge.add(audio(f"part{n}")) for n in range(2)]
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.DONE
    assert [task.status for task in tasks] == ["completed", "pending"]


async def test_a_part_that_fails_is_told_with_its_code_and_never_with_a_path(rig: Rig):
    task = rig.bridge.add(audio("x"))
    rig.pool.errors = [EngineDied(f"It broke in {rig.folder / 'audio'}/x. " + "y" * 500)]
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.FAILED
    told = task.failures[0]
    assert (told["error_code"], told["retryable"], task.status) == ("engine_died", True, "pending")
    assert str(rig.folder) not in told["error_message"]
    assert len(told["error_message"].encode()) <= 300


async def test_a_worker_that_can_t_hear_gives_back_and_asks_ever_less(rig: Rig):
    task = rig.bridge.add(audio("x"))
    rig.pool.errors = [EngineUnavailable("No engine.") for _ in range(50)]
    await rig.start()
    began = rig.clock.monotonic()
    await rig.bridge.until(lambda: len(task.failures) == 4)
    assert rig.clock.monotonic() - began > 2.5 + 5 + 10
    assert {each["error_code"] for each in task.failures} == {"given_back"}


async def test_a_worker_that_is_not_known_any_more_registers_anew(rig: Rig):
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("claim") >= 1)
    rig.bridge.workers.clear()
    task = rig.bridge.add(audio("x"))
    await rig.bridge.until(lambda: task.status == "completed")
    assert rig.bridge.count("register") == 2


async def test_after_a_restart_it_is_the_same_worker(rig: Rig):
    for _ in range(2):
        rig.bridge.add(audio("x"))
        await rig.start(once=True)
        assert await rig.ends() is ExitCode.DONE
    assert rig.bridge.count("register") == 1


async def test_a_pause_at_the_bridge_is_waited_for_without_hammering(rig: Rig):
    rig.bridge.paused = True
    task = rig.bridge.add(audio("x"))
    await rig.start()
    began = rig.clock.monotonic()
    await rig.bridge.until(lambda: rig.bridge.count("claim") >= 8)
    assert rig.clock.monotonic() - began > 7 * 2 * 0.8
    rig.bridge.paused = False
    await rig.bridge.until(lambda: task.status == "completed")


async def test_outside_its_hours_it_takes_nothing_and_gives_back_what_is_not_begun(
    rig: Rig, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    local = rig.clock.now().astimezone()
    minute = local.hour * 60 + local.minute
    # Open for a minute or two of the hurried clock, then closed.
    hours = Hours(((minute, (minute + 1) % (24 * 60)),))
    tasks = [rig.bridge.add(audio(f"part{n}")) for n in range(3)]
    rig.pool.hold.clear()
    await rig.start(hours=hours)
    await rig.bridge.until(lambda: rig.bridge.count("input") == 2)
    await rig.bridge.until(lambda: bool(tasks[1].failures))
    assert tasks[1].failures[0]["error_code"] == "given_back"
    rig.pool.hold.set()
    await rig.bridge.until(lambda: tasks[0].status == "completed")
    claims = rig.bridge.count("claim")
    await rig.clock.sleep(40)
    assert rig.bridge.count("claim") == claims
    [told] = [record.message for record in caplog.records if "Outside its hours" in record.message]
    opens = f"{minute // 60:02d}:{minute % 60:02d}"
    assert told.endswith(f"this worker ends what it has begun, then waits, and takes parts at {opens}.")


def closed_now(rig: Rig) -> tuple[Hours, str]:
    """Return hours that begin in two hours, and when that is."""
    hour = (rig.clock.now().astimezone().hour + 2) % 24
    return Hours(((hour * 60, hour * 60 + 30),)), f"{hour:02d}:00"


async def test_a_wrong_token_is_told_at_the_start_outside_its_hours_too(rig: Rig):
    rig.bridge.token = "another"
    await rig.start(hours=closed_now(rig)[0])
    with pytest.raises(TokenRefused, match="then start this worker with the new token"):
        await rig.ends()


async def test_outside_its_hours_it_asks_once_and_says_until_when_it_waits(
    rig: Rig, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    rig.bridge.add(audio("x"))
    hours, opens = closed_now(rig)
    await rig.start(hours=hours)
    await rig.bridge.until(lambda: rig.bridge.count("jobs") >= 1)
    await rig.clock.sleep(120)
    assert [name for _, name in rig.bridge.calls] == ["jobs"]
    told = [record.message for record in caplog.records]
    assert sum("takes this worker" in line for line in told) == 1
    assert sum(line.endswith(f"this worker waits, and takes parts at {opens}.") for line in told) == 1


async def test_once_outside_its_hours_says_so_and_ends(rig: Rig, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    rig.bridge.add(audio("x"))
    hours, opens = closed_now(rig)
    await rig.start(hours=hours, once=True)
    assert await rig.ends() is ExitCode.TRY_LATER
    assert f"ends without a part; start it again at {opens}." in caplog.text
    assert rig.bridge.count("claim") == 0


@pytest.mark.parametrize(
    ("mode", "parts", "said"),
    [
        ({"once": True}, 0, "has no part to hear for this worker just now: it ends."),
        ({"idle_exit": True}, 0, "has no part to hear for this worker just now: it ends."),
        ({"once": True}, 1, "Its one part is handed in: this worker ends."),
    ],
)
async def test_a_worker_that_ends_by_itself_says_why(
    rig: Rig, caplog: pytest.LogCaptureFixture, mode: dict[str, bool], parts: int, said: str
):
    caplog.set_level(logging.INFO)
    for number in range(parts):
        rig.bridge.add(audio(f"part{number}"))
    await rig.start(**mode)
    await rig.ends()
    assert sum(said in record.message for record in caplog.records) == 1


async def test_a_part_is_called_by_the_end_of_its_book_s_id_and_counted_from_one(
    rig: Rig, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    rig.bridge.job_id = "ed8927ba-1111-8111-8111-00000000002a"
    rig.bridge.add(audio("x"))
    await rig.start(once=True)
    await rig.ends()
    assert "part 1 of 0000002a is heard" in caplog.text


@pytest.mark.parametrize("once", [True, False])
async def test_a_refused_token_is_confirmed_at_another_door_and_ends_a_new_worker(
    rig: Rig, caplog: pytest.LogCaptureFixture, once: bool
):
    rig.bridge.token = "another"
    await rig.start(once=once)
    with pytest.raises(TokenRefused, match="add the worker again"):
        await rig.ends()
    assert [name for _, name in rig.bridge.calls] == ["register", "jobs"]
    assert rig.bridge.at[1] - rig.bridge.at[0] >= 4
    assert "asked again" not in caplog.text


async def test_a_token_refused_later_is_asked_about_seldom_and_taken_up_again(
    rig: Rig, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    first = rig.bridge.add(audio("one"))
    await rig.start()
    await rig.bridge.until(lambda: first.status == "completed")
    rig.bridge.token = "another"
    await rig.bridge.until(lambda: rig.bridge.count("jobs") >= 1)
    asked = len(rig.bridge.calls)
    await rig.clock.sleep(150)
    assert 1 <= len(rig.bridge.calls) - asked <= 3
    rig.bridge.token = "wrk_" + "t" * 43
    second = rig.bridge.add(audio("two"))
    await rig.bridge.until(lambda: second.status == "completed")
    assert sum(record.levelname == "ERROR" for record in caplog.records) == 1


async def test_a_refused_once_is_no_refusal(rig: Rig):
    answers = iter([401])

    async def once(request):
        if request.path == "/tasks/claim" and next(answers, None):
            return rig.bridge._no(401, "unauthorized")
        return None

    rig.bridge.instead = once
    task = rig.bridge.add(audio("x"))
    await rig.start()
    await rig.bridge.until(lambda: task.status == "completed")
    assert rig.bridge.count("jobs") == 1


async def test_everything_is_told_in_the_wire_s_words(rig: Rig):
    seen: dict[str, dict] = {}

    async def note(request):
        if request.method == "POST" and request.path.startswith(("/tasks", "/workers")):
            seen[request.path.rsplit("/", 1)[-1]] = json.loads(await request.read())
        return

    rig.bridge.instead = note
    rig.bridge.add(audio("x"))
    await rig.start(once=True)
    await rig.ends()
    assert seen["register"].keys() == {"name", "capabilities", "cpu_count", "memory_mb"}
    assert seen["claim"].keys() == {"worker_id", "capabilities", "max_concurrency"}
    assert seen["heartbeat"].keys() == {"worker_id", "attempt"}
    assert seen["result"].keys() == {"worker_id", "attempt", "result", "metrics"}
    assert seen["result"]["result"].keys() == {"artifact_id", "content_type"}
    assert isinstance(seen["result"]["attempt"], int)


async def test_a_claim_that_comes_while_it_ends_is_given_back(rig: Rig):
    task = rig.bridge.add(audio("x"))
    gate = asyncio.Event()

    async def slow(request):
        if request.path == "/tasks/claim":
            await gate.wait()
        return

    rig.bridge.instead = slow
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("register") == 1)
    await asyncio.sleep(0.05)
    assert rig.worker is not None
    rig.worker.drain()
    gate.set()
    assert await rig.ends() is ExitCode.DONE
    assert (task.attempt, task.status) == (1, "pending")
    assert task.failures[0]["error_code"] == "given_back"
