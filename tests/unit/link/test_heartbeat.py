"""The heartbeat: its rhythm, what a failed one means, and when the Bridge counts itself online."""

import asyncio
import itertools
import logging

import pytest

from bridge_agent.link.errors import ServerAway
from bridge_agent.protocol.bridge import Heartbeat, LibraryCheck, Report
from tests.fakes.clock import settle
from tests.fakes.server import (
    SERVER_ID,
    FakeServer,
    answer_error,
    answer_json,
    answer_redirect,
    answer_text,
    drop,
    until,
    when,
)


async def beats(server: FakeServer, clock, count: int, step: float = 30.0) -> None:
    """Let time pass so that this many more heartbeats arrive and are taken in."""
    for _ in range(count):
        seen = len(server.of("status"))
        await clock.advance(step)
        await server.seen("status", seen + 1)
        await asyncio.sleep(0.02)


@pytest.mark.requirement("R-034")
async def test_it_beats_every_30_seconds_also_while_a_poll_waits_and_reports_go(rigs, clock):
    async with FakeServer(clock=clock) as server:
        rig = await rigs(clock).start()
        await rig.pair(server)
        job = server.offer()
        server.jobs[job.id].state = "running"
        server.jobs[job.id].attempt = 1
        poll = asyncio.ensure_future(rig.link.next_job(["bridge.verify"], 25, "c1"))
        await server.seen("next")
        for _ in range(5):
            seen = len(server.of("status"))
            for _ in range(3):
                await clock.advance(10)
                await rig.link.report(job.id, Report(attempt=1, state="running"))
            await server.seen("status", seen + 1)
        moments = [call.clock_at for call in server.of("status")]
        gaps = [b - a for a, b in itertools.pairwise(moments)]
        assert len(gaps) >= 5
        assert all(28 <= gap <= 32 for gap in gaps)
        assert await poll is None
        await rig.stop()


@pytest.mark.requirement("R-036", "R-035")
async def test_a_beat_carries_what_the_rooms_give_at_that_moment(server, rigs, clock):
    rig = rigs(clock)
    check = LibraryCheck(
        library_id=1,
        path="/mnt/books",
        ok=True,
        readable=True,
        writable=False,
        checked_at="2026-01-01T00:00:00.000Z",
        files_checked=3,
        files_matched=3,
    )
    found: list[LibraryCheck] = []
    rig.link.heartbeat_parts = lambda: Heartbeat(
        version="9", kinds=["bridge.verify"], libraries=found, ui_url="http://desk:13380"
    )
    await rig.start()
    await rig.pair(server)
    assert server.heartbeat == {
        "version": "9",
        "kinds": ["bridge.verify"],
        "libraries": [],
        "workers": [],
        "ui_url": "http://desk:13380",
    }
    found.append(check)
    rig.link.beat_now()
    await server.seen("status", 2)
    assert server.heartbeat["libraries"][0]["path"] == "/mnt/books"
    assert "error" not in server.heartbeat["libraries"][0]


async def test_asked_during_a_beat_another_follows_with_the_news(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    held = asyncio.Event()
    server.script("status", when(held))
    rig.link.beat_now()
    await server.seen("status", 2)
    waiting = asyncio.ensure_future(rig.link.beaten())
    await settle()
    held.set()
    assert await waiting is True
    assert len(server.of("status")) == 3


@pytest.mark.requirement("R-047")
async def test_online_is_a_young_heartbeat_and_no_failure_since(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    assert (rig.link.state, rig.link.reason) == ("online", "")
    assert rig.link.last_heartbeat_at == clock.now()

    server.script("status", answer_error(500, "broken"))
    await beats(server, clock, 1)
    assert (rig.link.state, rig.link.online) == ("offline", False)
    assert "problem of its own" in rig.link.reason
    assert rig.link.next_try_at is not None
    assert rig.link.ready.is_set()

    await beats(server, clock, 1)
    assert (rig.link.state, rig.link.next_try_at) == ("online", None)


@pytest.mark.requirement("R-047")
async def test_two_minutes_of_silence_are_offline_though_nothing_failed(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    held = asyncio.Event()
    server.always("status", when(held))
    await clock.advance(119.9)
    await server.seen("status", 2)
    assert rig.link.online
    await clock.advance(0.1)
    assert rig.link.state == "offline"
    held.set()
    await until(lambda: rig.link.online)


@pytest.mark.requirement("R-048")
async def test_nothing_else_is_called_before_the_first_heartbeat_went_through(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await rig.stop()

    held = asyncio.Event()
    server.always("status", when(held))
    again = await rigs(clock).start()
    assert (again.link.state, again.link.server_id) == ("connecting", SERVER_ID)
    assert [library.id for library in again.link.libraries] == [1]
    await server.seen("status", 2)
    for call in (
        again.link.next_job(["bridge.verify"], 0, "c"),
        again.link.report(1, Report(attempt=1, state="running")),
        again.link.book(1, None),
    ):
        with pytest.raises(ServerAway):
            await call
    assert not again.link.ready.is_set()
    held.set()
    await until(again.link.ready.is_set)
    assert again.ear.heard == [f"ready {SERVER_ID}"]
    assert server.of("next") == server.of("report") == server.of("book") == []


@pytest.mark.requirement("R-091")
async def test_a_503_is_no_refusal_and_keeps_the_normal_rhythm(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    server.script("status", *[answer_error(503, "later", headers={"Retry-After": "3"})] * 3)
    states = []
    for _ in range(4):
        await beats(server, clock, 1)
        states.append(rig.link.state)
    assert states == ["offline", "offline", "offline", "online"]
    assert len(server.of("status")) == 5
    assert rig.ear.heard == [f"ready {SERVER_ID}"]


async def test_a_busy_server_is_left_alone_as_long_as_it_asks_up_to_a_minute(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    server.script("status", answer_error(503, "later", headers={"Retry-After": "45"}))
    await beats(server, clock, 1)
    await clock.advance(44)
    assert len(server.of("status")) == 2
    await beats(server, clock, 1, step=1)
    assert rig.link.online


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (answer_text(200, "<!DOCTYPE html><h1>Welcome to the hotel"), "a web page"),
        (answer_text(401, "<html>Sign in", headers={"WWW-Authenticate": "Basic"}), "a web page"),
        (answer_json(401, {"detail": "no"}), "something else"),
        (answer_text(401, "", "text/plain"), "something else"),
        (answer_text(403, "<html>blocked"), "a web page"),
        (answer_text(404, "<html>nginx"), "a web page"),
        (answer_redirect("http://login.hotel/"), "http://login.hotel/"),
        (answer_redirect("", 307), "leads elsewhere"),
        (answer_text(511, "<html>sign in"), "status 511"),
        (answer_json(200, ["not", "this"]), "something else"),
        (drop(), "can’t be reached"),
        (answer_error(400, "invalid_status", "ui_url is no address."), "ui_url"),
    ],
)
async def test_what_is_not_the_servers_word_never_costs_the_token(server, rigs, clock, answer, names):
    rig = await rigs(clock).start()
    await rig.pair(server)
    # A dropped PUT is sent once more by the HTTP library.
    server.script("status", *[answer] * (2 if names == "can’t be reached" else 1))
    await clock.advance(30)
    await until(lambda: rig.link.state == "offline")
    assert names in rig.link.reason
    assert rig.ear.heard == [f"ready {SERVER_ID}"]
    await clock.advance(30)
    await until(lambda: rig.link.online)
    assert rig.link.reason == ""
    assert await rig.vault.load() == server.tokens[0]


async def test_an_outage_is_two_lines_in_the_log_and_retries_come_sooner(server, rigs, clock, caplog):
    rig = await rigs(clock).start()
    await rig.pair(server)
    caplog.clear()
    caplog.set_level(logging.INFO, "bridge_agent.link")
    await server.stop()
    await clock.advance(30)
    await until(lambda: rig.link.state == "offline")
    assert "can’t be reached" in rig.link.reason
    assert (rig.link.next_try_at - clock.now()).total_seconds() <= 3
    assert "The next heartbeat follows" in rig.line("heartbeat")
    for _ in range(5):
        was = rig.link.next_try_at
        await clock.advance(30)
        await until(lambda was=was: rig.link.next_try_at not in (None, was))
    await server.restart()
    await clock.advance(60)
    await until(lambda: rig.link.online)
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("bridge_agent.link")]
    assert len(lines) == 2, lines
    assert "failed" in lines[0]
    assert "works again" in lines[1]


@pytest.mark.requirement("R-040")
async def test_changed_libraries_are_told_and_survive_a_restart(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    server.libraries = [{"id": 2, "name": "New", "root": "/new"}, {"id": 1, "name": "Books", "root": "/x"}]
    before = rig.ear.changes
    await beats(server, clock, 1)
    await until(lambda: [library.id for library in rig.link.libraries] == [2, 1])
    assert rig.ear.changes > before
    await rig.stop()
    server.always("status", answer_error(500, "x"))
    again = await rigs(clock).start()
    assert [library.name for library in again.link.libraries] == ["New", "Books"]


async def test_a_claim_that_meets_no_heartbeat_beats_and_asks_again(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    server.heartbeat = None
    job = server.offer()
    claimed = await rig.link.next_job(["bridge.verify"], 25, "claim-1")
    assert (claimed.id, claimed.attempt) == (job.id, 1)
    assert [call.op for call in server.calls[1:]] == ["status", "next", "status", "next"]
    assert {call.headers["X-Claim-Id"] for call in server.of("next")} == {"claim-1"}


async def test_after_a_sleep_connections_are_cut_and_it_beats_at_once(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    poll = asyncio.ensure_future(rig.link.next_job(["bridge.verify"], 25, "c"))
    await server.seen("next")
    clock.set_wall(3600)
    await clock.advance(5)
    await server.seen("status", 2)
    with pytest.raises(ServerAway):
        await poll
    await until(lambda: rig.link.online)


async def test_the_clock_of_this_machine_is_compared_with_the_servers(rigs, clock):
    async with FakeServer(clock=clock) as server:
        rig = await rigs(clock).start()
        assert rig.link.clock_skew_s is None
        await rig.pair(server)
        assert rig.link.clock_skew_s == 0.0
        server.date = "Thu, 01 Jan 2026 01:00:00 GMT"
        rig.link.beat_now()
        await server.seen("status", 2)
        await until(lambda: rig.link.clock_skew_s != 0.0)
        assert rig.link.clock_skew_s == pytest.approx(-3600, abs=2)
        assert rig.link.online
        await rig.stop()


async def test_each_run_of_the_process_names_itself(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await beats(server, clock, 1)
    await rig.stop()
    again = await rigs(clock).start()
    await until(lambda: again.link.online)
    runs = [call.headers["X-Bridge-Run"] for call in server.of("status")]
    assert runs[0] == runs[1] != runs[2]


async def test_a_provider_that_fails_does_not_stop_the_heart(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    good = rig.link.heartbeat_parts
    rig.link.heartbeat_parts = lambda: 1 / 0
    await clock.advance(30)
    await until(lambda: rig.link.state == "offline")
    assert "its log" in rig.link.reason
    assert rig.loops.healthy
    rig.link.heartbeat_parts = good
    await clock.advance(30)
    await until(lambda: rig.link.online)
