"""Tokens, the gate before both wires, and the damping of those who are refused."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from bridge_agent.settings import BridgeSettings
from bridge_agent.store.database import StoreFull, open_inline
from bridge_agent.worker_api import tokens as worker_tokens
from bridge_agent.worker_api.damping import Damping
from bridge_agent.worker_api.gate import Damped, Gate, Refused
from bridge_agent.worker_api.opening import open_members
from bridge_agent.worker_api.tokens import SCHEMA, BadName, NameTaken, Registration, Tokens
from tests.fakes.clock import FakeClock
from tests.unit.worker_api.stores import FailingStore, LateStore


@pytest.fixture
def tokens(tmp_path: Path, clock: FakeClock) -> Tokens:
    return Tokens(open_inline(tmp_path / "workers.sqlite3", SCHEMA), clock)


async def test_a_token_is_found_by_itself_alone_and_stored_as_a_hash(tokens: Tokens, tmp_path: Path) -> None:
    invited = await tokens.add("gpu", "small")
    assert invited.token.startswith("wrk_")
    assert len(invited.token) == 47
    assert tokens.find(invited.token) == invited.member
    assert tokens.find(invited.token + "x") is None
    with sqlite3.connect(tmp_path / "workers.sqlite3") as file:
        dump = "\n".join(file.iterdump())
    assert invited.token not in dump
    assert invited.token[4:20] not in dump
    file.close()


@pytest.mark.parametrize("name", ["", "  ", "\x00\n", "n" * 129, "é" * 65, "n" * 200])
async def test_a_worker_needs_a_name_that_is_kept_whole(tokens: Tokens, name: str) -> None:
    with pytest.raises(BadName):
        await tokens.add(name)


async def test_a_name_of_128_bytes_is_kept_as_it_is(tokens: Tokens) -> None:
    for name in ("n" * 128, "é" * 64):
        assert (await tokens.add(f" {name} ")).member.name == name


@pytest.mark.parametrize("name", ["gpu", " gpu ", "this computer"])
async def test_a_name_names_one_worker_alone_and_never_this_computer(tokens: Tokens, name: str) -> None:
    await tokens.add("gpu")
    with pytest.raises(NameTaken):
        await tokens.add(name)


async def test_a_revoked_token_is_nobodys_at_once_and_after_a_restart(
    tmp_path: Path, clock: FakeClock
) -> None:
    settings = BridgeSettings(data_dir=tmp_path)
    members = await open_members(settings, clock)
    kept, gone = await members.tokens.add("kept"), await members.tokens.add("gone")
    await members.tokens.register(Registration("w1", kept.member.id, "host", ("transcribe",)))
    await members.tokens.register(Registration("w2", gone.member.id, "host", ("transcribe",)))
    await members.tokens.pause(kept.member.id, paused=True)
    assert await members.tokens.revoke(gone.member.id) == gone.member
    assert await members.tokens.revoke(gone.member.id) is None
    assert members.tokens.find(gone.token) is None
    key = await members.tokens.key("audio")
    await members.db.close()

    again = await open_members(settings, clock)
    found = again.tokens.find(kept.token)
    assert found is not None
    assert found.paused
    assert found.name == "kept"
    assert again.tokens.find(gone.token) is None
    assert await again.tokens.registration("w1") == Registration(
        "w1", kept.member.id, "host", ("transcribe",)
    )
    assert await again.tokens.registration("w2") is None
    assert await again.tokens.key("audio") == key != await again.tokens.key("other")
    later = await again.tokens.add("later")
    assert later.member.id > gone.member.id
    await again.db.close()


async def test_the_registrations_of_a_token_that_were_used_latest_are_known(
    tokens: Tokens, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worker_tokens.MOST_REGISTRATIONS == 10_000
    monkeypatch.setattr(worker_tokens, "MOST_REGISTRATIONS", 3)
    gpu, other = (await tokens.add("gpu")).member, (await tokens.add("other")).member
    await tokens.register(Registration("elsewhere", other.id, "host", ()))
    await tokens.register(Registration("busy", gpu.id, "host", ()))
    for number in range(10):
        await clock.advance(300)
        assert await tokens.registration("busy") is not None
        await tokens.register(Registration(f"flapping{number}", gpu.id, "host", ()))
    assert await tokens.registration("flapping7") is None
    assert await tokens.registration("flapping8") is not None
    assert await tokens.registration("elsewhere") is not None


async def test_that_a_registration_is_used_is_written_down_now_and_then_and_stops_nobody(
    tokens: Tokens, clock: FakeClock
) -> None:
    gpu = (await tokens.add("gpu")).member
    await tokens.register(Registration("w", gpu.id, "host", ()))
    tokens._db = counting = FailingStore(tokens._db, StoreFull())
    await clock.advance(299)
    await tokens.registration("w")
    assert counting.asked == 0
    await clock.advance(1)
    assert await tokens.registration("w") is not None
    assert counting.asked == 1
    clock.set_wall(-86_400)
    assert await tokens.registration("w") is not None
    assert counting.asked == 1
    await clock.advance(300)
    assert await tokens.registration("w") is not None
    assert counting.asked == 2


async def test_a_token_that_is_revoked_while_something_else_of_it_is_written_stays_nobodys(
    tokens: Tokens,
) -> None:
    invited = await tokens.add("gpu")
    db = tokens._db
    tokens._db = late = LateStore(db)
    pausing = asyncio.create_task(tokens.pause(invited.member.id, paused=True))
    await late.written.wait()
    tokens._db = db
    assert await tokens.revoke(invited.member.id) is not None
    late.go_on.set()
    assert await pausing is None
    assert tokens.find(invited.token) is None
    assert tokens.members() == []


async def test_a_token_whose_revoking_can_not_be_written_down_is_refused_and_may_be_revoked_again(
    tokens: Tokens,
) -> None:
    invited, db = await tokens.add("gpu"), tokens._db
    tokens._db = FailingStore(db, StoreFull())
    with pytest.raises(StoreFull):
        await tokens.revoke(invited.member.id)
    assert tokens.find(invited.token) is None
    assert [member.id for member in tokens.members()] == [invited.member.id]
    tokens._db = db
    assert await tokens.revoke(invited.member.id) is not None
    assert tokens.members() == []
    await tokens.load()
    assert tokens.find(invited.token) is None


async def test_each_call_says_when_a_worker_was_seen_and_the_disk_hears_of_it_now_and_then(
    tokens: Tokens, clock: FakeClock
) -> None:
    member = (await tokens.add("gpu")).member
    await tokens.saw(member)
    await clock.advance(29)
    await tokens.saw(member)
    # What is written of it for another reason has the older time.
    await tokens.pause(member.id, paused=True)
    found = tokens.get(member.id)
    assert found is not None
    assert found.last_seen_at == "2026-01-01T00:00:29.000Z"
    await tokens.load()
    found = tokens.get(member.id)
    assert found is not None
    assert found.last_seen_at == "2026-01-01T00:00:00.000Z"


async def test_a_worker_is_there_for_two_minutes_after_it_was_heard_of(
    tokens: Tokens, clock: FakeClock
) -> None:
    member = (await tokens.add("gpu")).member
    assert not tokens.there(member.id)
    await tokens.saw(member)
    await clock.advance(120)
    assert tokens.there(member.id)
    await clock.advance(1)
    assert not tokens.there(member.id)
    found = tokens.get(member.id)
    assert found is not None
    assert found.last_seen_at == "2026-01-01T00:00:00.000Z"


async def test_what_a_worker_hears_with_is_remembered(tokens: Tokens) -> None:
    member = (await tokens.add("gpu")).member
    await tokens.describe(member.id, "small", "faster-whisper", "cuda")
    await tokens.describe(member.id, None, "faster-whisper", "cpu")
    found = tokens.get(member.id)
    assert found is not None
    assert (found.model, found.engine, found.device) == ("small", "faster-whisper", "cpu")
    assert await tokens.describe(99, None, "", "") is None


@pytest.mark.requirement("S-15")
async def test_twenty_refusals_are_401_then_429_and_the_right_token_still_gets_in(
    tokens: Tokens, clock: FakeClock
) -> None:
    invited, gate = await tokens.add("gpu"), Gate(tokens, clock)
    for _ in range(20):
        with pytest.raises(Refused):
            await gate.admit("wrk_wrong", "10.0.0.7")
    for _ in range(30):
        with pytest.raises(Damped) as damped:
            await gate.admit(None, "10.0.0.7")
        assert 10 <= damped.value.retry_after <= 60
    assert (await gate.admit(invited.token, "10.0.0.7")).name == "gpu"
    with pytest.raises(Refused):
        await gate.admit("wrk_wrong", "10.0.0.8")
    await clock.advance(10)
    with pytest.raises(Refused):
        await gate.admit("wrk_wrong", "10.0.0.7")


def test_whoever_never_waits_is_told_to_wait_longer_up_to_a_minute(clock: FakeClock) -> None:
    damping = Damping(clock)
    waits = [damping.refused("::1") for _ in range(60)]
    assert waits[:20] == [None] * 20
    told = [wait for wait in waits[20:] if wait is not None]
    assert told == sorted(told)
    assert len(told) == 40
    assert (told[0], told[-1]) == (10.0, 60.0)


def test_a_neighbour_in_the_same_ipv6_network_is_counted_with_it(clock: FakeClock) -> None:
    damping = Damping(clock)
    for number in range(20):
        damping.refused(f"2001:db8::{number:x}")
    assert damping.refused("2001:db8::ffff") is not None
    assert damping.refused("2001:db8:1::1") is None


@pytest.mark.parametrize("trouble", [StoreFull(), sqlite3.OperationalError("database is locked")])
async def test_a_store_that_takes_nothing_keeps_no_worker_out(
    tokens: Tokens, clock: FakeClock, trouble: Exception
) -> None:
    invited, gate = await tokens.add("gpu"), Gate(tokens, clock)
    tokens._db = FailingStore(tokens._db, trouble)
    assert (await gate.admit(invited.token, "10.0.0.7")).id == invited.member.id
