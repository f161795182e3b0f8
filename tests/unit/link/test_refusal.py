"""A refused token: silence but for one heartbeat every five minutes, and the way back."""

import asyncio

import pytest

from bridge_agent.link.errors import NotPaired, TokenRefused
from bridge_agent.protocol.bridge import Report
from tests.fakes.server import SERVER_ID, FakeServer, answer_error, answer_json, drop, until, when


async def refused(rig, server: FakeServer) -> list[str]:
    """Let the next heartbeat be refused."""
    tokens = server.revoke()
    rig.link.beat_now()
    await until(lambda: rig.link.state == "refused")
    return tokens


@pytest.mark.requirement("R-083", "R-084")
@pytest.mark.parametrize("op", ["status", "next", "report", "book", "artifact"])
async def test_a_401_on_any_call_is_a_refusal_with_its_three_causes(server, rigs, clock, tmp_path, op):
    rig = await rigs(clock).start()
    await rig.pair(server)
    server.revoke()
    file = tmp_path / "t.json"
    file.write_text("{}")
    if op == "status":
        assert await rig.link.beaten() is False
    else:
        call = {
            "next": lambda: rig.link.next_job(["bridge.verify"], 25, "c"),
            "report": lambda: rig.link.report(1, Report(attempt=1, state="running")),
            "book": lambda: rig.link.book(1, "A/B"),
            "artifact": lambda: rig.link.put_artifact(1, 1, "t.json", "application/json", file),
        }[op]
        with pytest.raises(TokenRefused):
            await call()
    assert rig.link.state == "refused"
    assert not rig.link.ready.is_set()
    for cause in ("unpaired in the console", "another Bridge", "no longer an enabled admin"):
        assert cause in rig.link.reason
    assert rig.ear.heard == [f"ready {SERVER_ID}", "down refused"]
    assert await rig.vault.load() is not None


@pytest.mark.requirement("R-084", "R-085", "R-090")
async def test_while_refused_one_put_every_five_minutes_and_nothing_else_for_ever(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await refused(rig, server)
    before = len(server.calls)
    moment = clock.monotonic()
    for round_ in (1, 2, 3):
        rig.link.beat_now()
        assert await rig.link.beaten() is False
        for call in (rig.link.next_job(["bridge.verify"], 0, "c"), rig.link.book(1, None)):
            with pytest.raises(TokenRefused):
                await call
        await clock.advance(299)
        assert len(server.calls) == before + round_ - 1
        await clock.advance(1)
        await until(lambda count=before + round_: len(server.calls) == count)
        await until(lambda: rig.link.next_try_at is not None)
    assert {call.op for call in server.calls[before:]} == {"status"}
    assert clock.monotonic() - moment == 900
    assert rig.link.state == "refused"
    assert rig.ear.heard.count("down refused") == 1


@pytest.mark.requirement("R-086")
async def test_a_token_that_is_taken_again_carries_on_by_itself(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    tokens = await refused(rig, server)
    server.accept(tokens[0])
    await clock.advance(300)
    await until(lambda: rig.link.online)
    assert rig.ear.heard == [f"ready {SERVER_ID}", "down refused", f"ready {SERVER_ID}"]
    assert rig.link.ready.is_set()
    count = len(server.of("status"))
    await clock.advance(30)
    await server.seen("status", count + 1)


@pytest.mark.parametrize("answer", [drop(), answer_error(503, "later"), answer_error(500, "broken")])
async def test_a_failed_try_while_refused_keeps_to_the_five_minutes(server, rigs, clock, answer):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await refused(rig, server)
    server.script("status", answer, answer)
    await clock.advance(300)
    await until(lambda: rig.link.next_try_at is not None and rig.link.next_try_at > clock.now())
    assert rig.link.state == "refused"
    assert (rig.link.next_try_at - clock.now()).total_seconds() == pytest.approx(300)


async def test_a_refused_bridge_that_restarts_asks_once_and_is_refused_again(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await refused(rig, server)
    await rig.stop()
    again = await rigs(clock).start()
    await until(lambda: again.link.state == "refused")
    assert again.ear.heard == ["down refused"]


async def test_a_late_401_of_the_old_link_does_not_touch_the_new_one(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    held = asyncio.Event()
    server.script("book", when(held, answer_error(401, "unauthorized")))
    late = asyncio.ensure_future(rig.link.book(1, None))
    await server.seen("book")
    await rig.link.unpair()
    await rig.pair(server)
    held.set()
    with pytest.raises(NotPaired):
        await late
    assert rig.link.online


@pytest.mark.requirement("R-090")
async def test_only_unpairing_and_a_new_code_help_when_it_was_for_good(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await refused(rig, server)
    await rig.link.unpair()
    await rig.pair(server)
    assert rig.ear.heard == [f"ready {SERVER_ID}", "down refused", "down unpaired", f"ready {SERVER_ID}"]


@pytest.mark.requirement("R-088", "R-089")
async def test_servers_are_told_apart_by_id_never_by_address(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await rig.link.unpair()
    async with FakeServer(server_id="other-id") as other:
        await rig.pair(other)
        assert rig.ear.heard[-1] == "ready other-id"
        await rig.link.unpair()
    async with FakeServer(base_path="/moved") as moved:
        await rig.pair(moved)
        assert rig.ear.heard[-1] == f"ready {SERVER_ID}"
        await rig.link.unpair()


async def test_whoever_waits_for_a_beat_is_let_go_when_none_comes(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    held = asyncio.Event()
    server.script("status", when(held))
    rig.link.beat_now()
    await server.seen("status", 2)
    waiting = asyncio.ensure_future(rig.link.beaten())
    await asyncio.sleep(0)
    await rig.link.unpair()
    assert await waiting is False
    assert await rig.link.beaten() is False
    held.set()


async def test_a_heartbeat_that_was_under_way_does_not_undo_a_refusal(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    held = asyncio.Event()
    server.script("status", when(held, answer_json(200, {"libraries": server.libraries})))
    rig.link.beat_now()
    await server.seen("status", 2)
    server.revoke()
    with pytest.raises(TokenRefused):
        await rig.link.book(1, None)
    held.set()
    await until(lambda: rig.link.next_try_at is not None)
    await asyncio.sleep(0.05)
    assert rig.link.state == "refused"
    assert (rig.link.next_try_at - clock.now()).total_seconds() == pytest.approx(300)
    assert rig.ear.heard == [f"ready {SERVER_ID}", "down refused"]
