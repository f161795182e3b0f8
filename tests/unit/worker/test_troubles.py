"""What goes wrong between a worker and its Bridge, and what comes of it."""

import hashlib
import itertools
import logging
import socket
import ssl
import threading
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bridge_agent.base.errors import ExitCode
from bridge_agent.worker.coordinator import Coordinator
from bridge_agent.worker.errors import BridgeAway, TokenRefused, WrongCertificate
from bridge_agent.worker.gate import Gate
from tests.fakes import coordinator as fake
from tests.fakes.coordinator import TOKEN
from tests.fakes.tls import server_context
from tests.unit.worker.rig import Rig, audio


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]


async def test_a_bridge_that_is_down_for_a_night_costs_a_dozen_lines_and_no_work(
    rig: Rig, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    rig.bridge.lease_s = 100_000.0
    tasks = [rig.bridge.add(audio(f"part{n}")) for n in range(3)]
    rig.pool.hold.clear()
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("input") == 2)
    await rig.bridge.unplug()
    # The part in hand and the one beside it are heard while nobody answers.
    rig.pool.hold.set()
    before = len(said(caplog))
    await rig.bridge.until(lambda: len(rig.kept) == 2)
    await rig.clock.sleep(100)
    assert len(said(caplog)) - before <= 12
    await rig.bridge.plug_in()
    await rig.bridge.until(lambda: rig.bridge.done() == 3)
    assert [task.attempt for task in tasks] == [1, 1, 1]
    assert len(rig.pool.contexts) == 3
    await rig.bridge.until(lambda: rig.kept == [])
    assert sum("failed: The Bridge" in line for line in said(caplog)) == 1
    assert sum("works again after" in line for line in said(caplog)) == 1


async def test_questions_to_an_absent_bridge_become_seldom(rig: Rig):
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("claim") >= 1)

    async def away(_request):
        return web.Response(status=503, text="<html>")

    rig.bridge.instead = away
    asked = len(rig.bridge.calls)
    await rig.clock.sleep(120)
    assert 3 <= len(rig.bridge.calls) - asked <= 12


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/tasks/claim", 404, "worker not found"),
        ("/tasks/claim", 409, "not now"),
        ("/workers/register", 404, "not found"),
        ("/workers/register", 409, "not now"),
    ],
)
async def test_a_bridge_that_refuses_to_know_a_worker_is_asked_on_without_hammering(
    rig: Rig, caplog: pytest.LogCaptureFixture, path: str, status: int, text: str
):
    caplog.set_level(logging.INFO)
    first = rig.bridge.add(audio("one"))
    await rig.start()
    await rig.bridge.until(lambda: first.status == "completed")

    async def no(request: web.Request) -> web.Response | None:
        return rig.bridge._no(status, text) if request.path == path else None

    rig.bridge.workers.clear()
    rig.bridge.instead = no
    asked, before = len(rig.bridge.calls), len(said(caplog))
    await rig.clock.sleep(120)
    assert rig.running is not None
    assert not rig.running.done()
    assert 3 <= len(rig.bridge.calls) - asked <= 40
    lines = said(caplog)[before:]
    assert len(lines) <= 2
    assert not any("part is not" in line for line in lines)
    rig.bridge.instead = None
    second = rig.bridge.add(audio("two"))
    await rig.bridge.until(lambda: second.status == "completed")


async def test_audio_that_arrives_broken_is_fetched_again(rig: Rig):
    task = rig.bridge.add(audio("x"))
    rig.bridge.broken_inputs = 2
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.DONE
    assert (rig.bridge.count("input"), task.attempt) == (3, 1)


async def test_audio_that_is_never_what_was_named_is_not_heard(rig: Rig):
    task = rig.bridge.add(audio("x"))
    rig.bridge.broken_inputs = 99
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.FAILED
    assert rig.pool.contexts == []
    assert task.failures[0]["error_code"] == "input_checksum_mismatch"


async def test_a_bridge_that_says_other_bytes_were_stored_gets_no_result(rig: Rig):
    task = rig.bridge.add(audio("x"))
    rig.bridge.false_sums = 1
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.FAILED
    assert rig.bridge.count("result") == 0
    assert task.failures[0]["error_code"] == "result_refused"


@pytest.mark.parametrize("route", ["put", "result", "heartbeat", "input"])
async def test_a_lost_answer_is_asked_for_again(rig: Rig, route: str):
    task = rig.bridge.add(audio("x"))
    rig.bridge.lost_answers[route] = 2
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.DONE
    assert (task.status, task.attempt, len(rig.pool.contexts)) == ("completed", 1, 1)
    assert rig.kept == []


async def test_a_lost_claim_stops_the_engine_at_once_and_sends_nothing(rig: Rig):
    rig.bridge.interval_s = 1.0
    task = rig.bridge.add(audio("x"))
    rig.pool.hold.clear()
    await rig.start(once=True)
    await rig.bridge.until(lambda: rig.pool.at_once == 1)
    rig.bridge.expire(task)
    assert await rig.ends() is ExitCode.TRY_LATER
    assert rig.pool.let_go == 1
    assert rig.bridge.count("put") + rig.bridge.count("result") + rig.bridge.count("failure") == 0


async def test_a_finished_part_whose_claim_was_lost_is_not_heard_again(rig: Rig):
    task = rig.bridge.add(audio("x"), seed=1)

    async def away(request):
        return web.Response(status=502, text="") if request.method == "PUT" else None

    rig.bridge.instead = away
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("put") >= 1)
    rig.bridge.expire(task)
    rig.bridge.instead = None
    await rig.bridge.until(lambda: task.status == "completed")
    assert task.attempt == 2
    assert len(rig.pool.contexts) == 1


async def test_beats_come_before_half_of_the_lease_is_gone(rig: Rig):
    rig.bridge.lease_s, rig.bridge.interval_s = 90.0, 900.0
    task = rig.bridge.add(audio("x"))
    rig.pool.seconds = 170.0
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.DONE
    assert task.attempt == 1
    beats = [at for at, (_, name) in zip(rig.bridge.at, rig.bridge.calls, strict=True) if name == "heartbeat"]
    pauses = [later - earlier for earlier, later in itertools.pairwise(beats)]
    assert len(pauses) >= 4
    # On a busy machine a beat may come late, but never so late as the lease's end.
    assert sorted(pauses)[len(pauses) // 2] <= 45.0


@pytest.mark.parametrize("shift", [-86_400.0, 3_600.0])
async def test_a_wrong_clock_changes_nothing(rig: Rig, shift: float):
    rig.bridge.clock_shift = shift
    rig.bridge.lease_s, rig.bridge.interval_s = 90.0, 900.0
    task = rig.bridge.add(audio("x"))
    rig.pool.seconds = 60.0
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.DONE
    assert task.attempt == 1
    assert 2 <= rig.bridge.count("heartbeat") <= 6


async def test_a_machine_that_slept_beats_at_once_on_new_connections(rig: Rig):
    rig.bridge.lease_s, rig.bridge.interval_s = 100_000.0, 10_000.0
    rig.bridge.add(audio("x"))
    rig.pool.hold.clear()
    await rig.start()
    await rig.bridge.until(lambda: rig.pool.at_once == 1)
    beats = rig.bridge.count("heartbeat")
    rig.clock.slept += 20_000.0
    await rig.bridge.until(lambda: rig.bridge.count("heartbeat") > beats, patience=3)


async def test_a_machine_that_slept_while_it_looked_its_bridge_up_works_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    looking, release = threading.Event(), threading.Event()
    look_up = socket.getaddrinfo

    def stuck(host: str, *rest: Any) -> Any:
        looking.set()
        release.wait()
        return look_up("127.0.0.1", *rest)

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    named = f"http://bridge.test:{rig.bridge.port}"
    monkeypatch.setattr(type(rig.bridge), "url", property(lambda _: named))
    task = rig.bridge.add(audio("x"))
    await rig.start()
    try:
        await rig.bridge.until(looking.is_set)
        rig.clock.slept += 20_000.0
        await rig.clock.sleep(10)
    finally:
        release.set()
    await rig.bridge.until(lambda: task.status == "completed")


async def test_what_a_killed_worker_had_finished_is_handed_in_by_the_next(rig: Rig):
    task = rig.bridge.add(audio("x"))

    async def away(request):
        return web.Response(status=502, text="") if request.method == "PUT" else None

    rig.bridge.instead = away
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("put") >= 1)
    await rig.kill()
    assert (len(rig.kept), task.status) == (1, "running")
    rig.bridge.instead = None
    await rig.start(idle_exit=True)
    assert await rig.ends() is ExitCode.DONE
    assert (task.status, task.attempt, len(rig.pool.contexts)) == ("completed", 1, 1)
    assert rig.kept == []


async def test_a_result_that_was_taken_unheard_is_found_taken_after_a_restart(rig: Rig):
    task = rig.bridge.add(audio("x"))
    rig.bridge.lost_answers["result"] = 99
    await rig.start()
    await rig.bridge.until(lambda: task.status == "completed")
    await rig.kill()
    rig.bridge.lost_answers.clear()
    assert len(rig.kept) == 1
    await rig.start(idle_exit=True)
    assert await rig.ends() is ExitCode.DONE
    assert rig.kept == []
    assert task.attempt == 1


async def test_a_leftover_whose_claim_is_lost_waits_for_its_part_to_come_again(rig: Rig):
    task = rig.bridge.add(audio("x"), seed=1)

    async def away(request):
        return web.Response(status=502, text="") if request.method == "PUT" else None

    rig.bridge.instead = away
    await rig.start()
    await rig.bridge.until(lambda: rig.bridge.count("put") >= 1)
    await rig.kill()
    rig.bridge.expire(task)
    rig.bridge.instead = None
    await rig.start(idle_exit=True)
    assert await rig.ends() is ExitCode.DONE
    assert (task.status, task.attempt, len(rig.pool.contexts)) == ("completed", 2, 1)


async def test_the_quiet_that_is_asked_for_is_kept(rig: Rig):
    answers = iter([429])

    async def busy(request):
        if request.path == "/tasks/claim" and next(answers, None):
            return web.json_response(
                {"error": "too many refusals"}, status=429, headers={"Retry-After": "30"}
            )
        return None

    rig.bridge.instead = busy
    task = rig.bridge.add(audio("x"))
    await rig.start()
    await rig.bridge.until(lambda: task.status == "completed")
    claims = [at for at, (_, name) in zip(rig.bridge.at, rig.bridge.calls, strict=True) if name == "claim"]
    assert claims[1] - claims[0] >= 29.0


@pytest.mark.parametrize("status", [301, 307, 401, 403, 404])
async def test_pages_of_something_in_between_are_no_answers(rig: Rig, status: int):
    answers = iter([status] * 2)

    async def between(_request):
        if (found := next(answers, None)) is None:
            return None
        headers = {"Location": "http://192.0.2.1/"} if status < 400 else {}
        return web.Response(
            status=found, text="<html>Sign in</html>", content_type="text/html", headers=headers
        )

    rig.bridge.instead = between
    task = rig.bridge.add(audio("x"))
    await rig.start()
    await rig.bridge.until(lambda: task.status == "completed")
    assert rig.bridge.count("jobs") == 0


async def test_the_token_goes_to_no_other_origin(rig: Rig):
    other = fake.Coordinator(clock=rig.clock)
    await other.plug_in()
    seen: list[str] = []

    async def note(request):
        seen.append(request.headers.get("Authorization", ""))

    other.instead = note
    task = rig.bridge.add(audio("x"))
    wire = rig.bridge._wire
    rig.bridge._wire = lambda task: {  # type: ignore[method-assign]
        **wire(task),
        "input": {"uri": f"{other.url}/tasks/x/input", "sha256": "0" * 64},
    }
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.FAILED
    await other.unplug()
    assert seen == []
    assert task.failures[0]["error_code"] == "input_refused"


async def test_without_an_answer_a_worker_that_ends_by_itself_says_try_later(
    rig: Rig, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    await rig.bridge.unplug()
    await rig.start(idle_exit=True)
    assert await rig.ends() is ExitCode.TRY_LATER
    assert "could not be asked for 30 s: this worker ends." in said(caplog)[-1]


async def test_a_task_of_another_kind_is_left_to_others(rig: Rig):
    task = rig.bridge.add(audio("x"))
    wire = rig.bridge._wire
    rig.bridge._wire = lambda task: {**wire(task), "workload": "similarity-search"}  # type: ignore[method-assign]
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.FAILED
    assert task.failures[0]["error_code"] == "unknown_workload"


async def test_a_task_s_id_names_no_file_here(rig: Rig):
    task = rig.bridge.add(audio("x"))
    # Longer than a file's name may be.
    task.id = "x" * 300
    await rig.start(once=True)
    assert await rig.ends() is ExitCode.DONE
    assert task.status == "completed"


async def test_no_token_is_in_the_log(rig: Rig, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    rig.bridge.add(audio("x"))
    rig.bridge.lost_answers["put"] = 1
    await rig.start(once=True)
    await rig.ends()
    assert TOKEN not in caplog.text


class TestPinned:
    """The one certificate."""

    @pytest.fixture
    async def secure(self, tmp_path):
        rig = Rig(tmp_path, tls=server_context(tmp_path))
        await rig.bridge.plug_in()
        der = ssl.PEM_cert_to_DER_cert((tmp_path / "cert.pem").read_text())
        rig.trust = aiohttp.Fingerprint(hashlib.sha256(der).digest())
        yield rig
        await rig.close()

    async def test_the_pinned_certificate_is_spoken_to(self, secure: Rig):
        task = secure.bridge.add(audio("x"))
        await secure.start(once=True)
        assert await secure.ends() is ExitCode.DONE
        assert task.status == "completed"

    async def test_another_certificate_is_told_nothing(self, secure: Rig, caplog: pytest.LogCaptureFixture):
        secure.trust = aiohttp.Fingerprint(b"\0" * 32)
        await secure.start()
        with pytest.raises(WrongCertificate, match="not the pinned one, so nothing was sent") as ended:
            await secure.ends()
        assert secure.bridge.calls == []
        # Waiting does not help, and who ends with a sentence has not told it before.
        assert ended.value.exit_code is ExitCode.FAILED
        assert caplog.records == []

    async def test_without_a_pin_an_unknown_certificate_is_not_trusted(self, secure: Rig):
        secure.trust = True
        await secure.start()
        with pytest.raises(WrongCertificate, match="set BRIDGE_WORKER_FINGERPRINT"):
            await secure.ends()
        assert secure.bridge.calls == []


async def test_a_coordinator_that_gives_parts_and_takes_no_beats_is_not_hammered(rig: Rig):
    task = rig.bridge.add(audio("x"))

    async def no(request):
        if not request.path.endswith("/heartbeat"):
            return None
        task.status = "pending"
        return rig.bridge._no(409, "task leased to another worker")

    rig.bridge.instead = no
    await rig.start()
    began = rig.clock.monotonic()
    await rig.bridge.until(lambda: task.attempt == 4)
    assert rig.clock.monotonic() - began > 2.5 + 5 + 10
    assert rig.bridge.count("input") == 0


async def test_a_part_that_breaks_the_worker_s_own_code_does_not_make_it_hammer(rig: Rig):
    task = rig.bridge.add(audio("x"))
    rig.bridge.lease_s = 1.0
    rig.pool.errors = [ZeroDivisionError("a mistake") for _ in range(50)]
    await rig.start()
    began = rig.clock.monotonic()
    await rig.bridge.until(lambda: task.attempt == 4)
    assert rig.clock.monotonic() - began > 2.5 + 5 + 10


async def test_asked_to_end_while_its_token_is_refused_it_ends_at_once(rig: Rig):
    first = rig.bridge.add(audio("one"))
    await rig.start()
    await rig.bridge.until(lambda: first.status == "completed")
    rig.bridge.token = "another"
    await rig.bridge.until(lambda: rig.bridge.count("jobs") >= 1)
    assert rig.worker is not None
    rig.worker.drain()
    # The wait for a claim that may be under way is in true seconds.
    assert await rig.ends(6) is ExitCode.DONE


async def test_asked_to_end_with_a_part_that_a_refusal_keeps_here_it_ends_at_once(rig: Rig):
    rig.bridge.add(audio("one"))
    rig.pool.hold.clear()
    await rig.start()
    await rig.bridge.until(lambda: len(rig.pool.contexts) == 1)
    rig.bridge.token = "another"
    rig.pool.hold.set()
    worker = rig.worker
    assert worker is not None
    await rig.bridge.until(lambda: worker.refused and rig.kept != [])
    began = rig.clock.monotonic()
    worker.drain()
    assert await rig.ends(3) is ExitCode.DONE
    assert rig.clock.monotonic() - began < 15
    assert len(rig.kept) == 1


async def test_a_refusal_while_it_hears_its_one_part_ends_it(rig: Rig):
    rig.bridge.add(audio("one"))
    rig.pool.hold.clear()
    await rig.start(once=True)
    await rig.bridge.until(lambda: len(rig.pool.contexts) == 1)
    rig.bridge.token = "another"
    with pytest.raises(TokenRefused, match="then start this worker with the new token"):
        await rig.ends()


async def test_a_listener_that_speaks_http_is_told_as_such(rig: Rig):
    client = Coordinator(
        rig.bridge.url.replace("http:", "https:"), TOKEN, True, rig.clock, Gate(rig.clock, 60.0)
    )
    with pytest.raises(BridgeAway, match=r"does not speak https; begin BRIDGE_WORKER_URL with http://"):
        await client.greet()
    await client.close()
