"""Claims and the long poll."""

import asyncio
import contextlib
from pathlib import Path

import aiohttp
import pytest

from bridge_agent.base.clock import SystemClock
from tests.fakes.bridge import VERIFY, FakeBridge
from tests.fakes.clock import FakeClock
from tests.wire.server_rig import Rig, serving


def spawn(work) -> asyncio.Task:
    return asyncio.ensure_future(work)


async def vanish(rig: Rig, bridge: FakeBridge, count: int, claim_id: str | None = None) -> None:
    """Park polls and drop their connections without a word."""
    host, port = "127.0.0.1", rig.home.port
    header = "" if claim_id is None else f"X-Claim-Id: {claim_id}\r\n"
    request = (
        f"GET /api/v1/bridge/jobs/next?wait=25 HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {bridge.token}\r\n{header}\r\n"
    ).encode()
    parked = len(rig.home.jobs.waits)
    writers = []
    for _ in range(count):
        _, writer = await asyncio.open_connection(host, port)
        writer.write(request)
        writers.append(writer)
    await rig.until_parked(parked + count)
    for writer in writers:
        writer.transport.abort()


@pytest.mark.requirement("R-054")
async def test_the_highest_priority_goes_first_then_the_older_then_the_lower_id(house: Rig):
    bridge = await house.pair()
    low = await house.queued(1, priority=-5)
    older = await house.queued(2)
    same_moment = await house.queued(3)
    await house.time.advance(1)
    younger = await house.queued(4)
    high = await house.queued(5, priority=100)
    order = [(await bridge.claim())["id"] for _ in range(5)]
    assert order == [high, older, same_moment, younger, low]
    assert (await bridge.next()).status == 204


@pytest.mark.requirement("R-054", "R-094", "R-057")
async def test_kinds_are_those_of_heartbeat_server_and_poll_together(house: Rig):
    bridge = await house.pair(VERIFY, "test.other", "foo.bar")
    verify = await house.queued(1)
    other = await house.queued(2, kind="test.other")
    assert (await bridge.next(0, "unknown.kind", "foo.bar")).status == 204
    await bridge.beat(("test.other",))
    assert (await bridge.next(25, VERIFY)).status == 204
    assert (await bridge.next())["job"]["id"] == other
    assert (await bridge.next(0)).status == 204
    await bridge.beat((VERIFY, "test.other"))
    assert (await bridge.next(0, "test.other", VERIFY))["job"]["id"] == verify


@pytest.mark.requirement("R-055")
async def test_a_claim_leases_for_two_minutes_and_counts_the_attempt(house: Rig):
    bridge = await house.pair()
    job_id = await house.queued(1, params={"hold_seconds": 3})
    answer = await bridge.next()
    assert answer.body == {
        "job": {
            "id": job_id,
            "attempt": 1,
            "kind": VERIFY,
            "library_id": house.library_id,
            "path": "Book 1",
            "params": {"hold_seconds": 3},
            "lease_expires_at": "2026-01-01T00:02:00.000Z",
            "lease_seconds": 120.0,
        }
    }
    assert (await house.job(job_id))["state"] == "claimed"
    await house.time.advance(121)
    assert (await bridge.claim())["attempt"] == 2
    assert (await house.job(job_id))["attempts"] == 2


@pytest.mark.requirement("R-056")
async def test_a_poll_waits_as_long_as_it_says_and_no_longer_than_25_seconds(house: Rig):
    bridge = await house.pair()
    for wait, seconds in ((5, 5), (25, 25), (600, 25)):
        poll = spawn(bridge.next(wait))
        await house.until_parked()
        await house.time.advance(seconds - 0.5)
        await asyncio.sleep(0.02)
        assert not poll.done()
        await house.time.advance(1)
        assert (await poll).status == 204
    for wait in ("soon", "nan", "-1", "inf"):
        assert (await bridge.get("/bridge/jobs/next", params={"wait": wait})).status == 400
    assert (await bridge.next()).status == 204
    for claim_id in ("x" * 101, "ünïcode"):
        assert (await bridge.next(claim_id=claim_id)).status == 400


@pytest.mark.requirement("R-056")
async def test_a_job_queued_meanwhile_wakes_a_poll(house: Rig):
    bridge = await house.pair()
    poll = spawn(bridge.next(25, VERIFY))
    await house.until_parked()
    job_id = await house.queued()
    assert (await poll)["job"]["id"] == job_id


@pytest.mark.requirement("R-056")
async def test_a_lease_that_runs_out_wakes_a_poll(house: Rig):
    bridge = await house.pair()
    await house.queued()
    await bridge.claim()
    await house.time.advance(110)
    poll = spawn(bridge.next(25))
    await house.until_parked()
    await house.time.advance(9)
    await asyncio.sleep(0.02)
    assert not poll.done()
    await house.time.advance(2)
    assert (await poll)["job"]["attempt"] == 2


async def test_a_heartbeat_that_names_more_kinds_wakes_a_poll(house: Rig):
    bridge = await house.pair("test.other", VERIFY)
    await house.queued()
    await bridge.beat(("test.other",))
    poll = spawn(bridge.next(25))
    await house.until_parked()
    await bridge.beat(("test.other", VERIFY))
    assert (await poll)["job"]["kind"] == VERIFY


async def test_a_heartbeat_that_leaves_a_poll_no_kind_ends_it(house: Rig):
    bridge = await house.pair()
    poll = spawn(bridge.next(25, VERIFY))
    await house.until_parked()
    await bridge.beat(("test.other",))
    assert (await poll).status == 204


@pytest.mark.requirement("R-031", "R-060")
async def test_a_token_revoked_during_the_wait_claims_nothing(house: Rig):
    bridge = await house.pair()
    poll = spawn(bridge.next(25))
    await house.until_parked()
    await house.admin.delete("/admin/bridge")
    answer = await poll
    assert (answer.status, answer.code) == (401, "unauthorized")


@pytest.mark.requirement("R-031", "R-060", "R-006")
async def test_a_new_pairing_ends_the_old_bridges_poll_and_leaves_the_job(house: Rig):
    old = await house.pair()
    poll = spawn(old.next(25))
    await house.until_parked()
    new = await house.pair()
    job_id = await house.queued()
    assert (await poll).status == 401
    job = await house.job(job_id)
    assert (job["state"], job["attempts"]) == ("queued", 0)
    assert (await new.claim())["id"] == job_id


@pytest.mark.requirement("R-030", "R-031")
async def test_demoting_the_admin_ends_a_parked_poll(house: Rig):
    await house.admin.post("/admin/users", {"username": "b", "password": "pw", "role": "admin"})
    first, house.admin = house.admin, await house.sign_in("b", "pw")
    bridge = await house.pair()
    poll = spawn(bridge.next(25))
    await house.until_parked()
    await first.patch("/admin/users/2", {"role": "user"})
    assert (await poll).status == 401


@pytest.mark.requirement("R-058")
async def test_a_stopping_server_ends_waits_with_204_and_is_gone_within_two_seconds(tmp_path: Path):
    async with serving(tmp_path, SystemClock()) as house:
        bridge = await house.pair()
        url = f"{house.home.url}/console/events"
        headers = {"Authorization": f"Bearer {house.admin.token}"}
        streams = [spawn(house.http.get(url, headers=headers)) for _ in range(5)]
        polls = [spawn(bridge.next(25)) for _ in range(50)]
        await house.until_parked(50)
        open_streams = await asyncio.gather(*streams)
        assert {stream.status for stream in open_streams} == {200}
        loop = asyncio.get_running_loop()
        began = loop.time()
        await house.home.stop()
        assert loop.time() - began < 2
        assert {answer.status for answer in await asyncio.gather(*polls)} == {204}
        for stream in open_streams:
            async with asyncio.timeout(1):
                await stream.read()


@pytest.mark.requirement("R-059")
async def test_before_the_first_heartbeat_there_is_no_work(house: Rig):
    bridge = FakeBridge(house.http, house.home.url)
    await bridge.pair(await house.code())
    answer = await bridge.next(25)
    assert (answer.status, answer.code) == (409, "no_heartbeat")
    await bridge.beat()
    assert (await bridge.next()).status == 204


async def test_a_poll_that_is_repeated_under_its_claim_id_gets_the_same_claim(house: Rig):
    bridge = await house.pair()
    first = await house.queued(1)
    await house.queued(2)
    job = (await bridge.next(claim_id="one"))["job"]
    await house.time.advance(60)
    again = (await bridge.next(claim_id="one"))["job"]
    assert (again["id"], again["attempt"]) == (first, job["attempt"])
    assert again["lease_expires_at"] == "2026-01-01T00:03:00.000Z"
    await bridge.report(job, "running")
    assert (await bridge.next(claim_id="one"))["job"]["id"] == first
    assert (await bridge.next(claim_id="two"))["job"]["id"] != first
    await bridge.report(job, "done")
    assert (await bridge.next(claim_id="one")).status == 204


async def test_two_parked_polls_of_one_claim_id_get_one_claim(house: Rig):
    bridge = await house.pair()
    polls = [spawn(bridge.next(25, claim_id="same")) for _ in range(2)]
    await house.until_parked(2)
    await house.queued(1)
    await house.queued(2)
    answers = await asyncio.gather(*polls)
    assert answers[0].body == answers[1].body
    assert len((await house.admin.get("/admin/bridge/jobs?state=queued"))["jobs"]) == 1


async def test_pollers_that_vanished_never_win_a_job(house: Rig):
    bridge = await house.pair()
    await vanish(house, bridge, 50)
    live = [spawn(bridge.next(25)) for _ in range(5)]
    while len(house.home.jobs.waits) > 5 or any(poll.done() for poll in live):
        await asyncio.sleep(0.005)
    await house.until_parked(5)
    ids = {await house.queued(number) for number in range(1, 6)}
    answers = await asyncio.gather(*live)
    assert {answer["job"]["id"] for answer in answers} == ids
    assert {answer["job"]["attempt"] for answer in answers} == {1}


async def test_a_claim_that_reached_nobody_is_given_back_and_does_not_count(house: Rig):
    bridge = await house.pair()
    job_id = await house.queued()
    row = (await bridge.next())["job"]
    for _ in range(4):
        held = await house.home.db.read(
            lambda c: c.execute("SELECT * FROM bridge_jobs WHERE id = ?", (job_id,)).fetchone()
        )
        from bridge_agent.home.job import Job

        await house.home.jobs.give_back(Job.of(held))
        assert (await house.job(job_id))["state"] == "queued"
        assert (await bridge.report(row, "running")).code == "not_held"
        row = (await bridge.next())["job"]
    assert row["attempt"] == 5
    await house.time.advance(121)
    assert (await house.job(job_id))["state"] == "queued"


async def test_a_poll_that_breaks_off_while_its_claim_is_written_leaves_the_job_queued(house: Rig):
    bridge = await house.pair()
    job_ids = [await house.queued(number) for number in range(1, 5)]

    async def break_off() -> None:
        timeout = aiohttp.ClientTimeout(total=0.004)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            with contextlib.suppress(TimeoutError, aiohttp.ClientError):
                await FakeBridge(http, house.home.url, bridge.token).next(25)

    for _ in range(20):
        await break_off()
    await asyncio.sleep(0.1)
    states = {job["state"] for job in (await house.admin.get("/admin/bridge/jobs"))["jobs"]}
    # One whose answer was sent before the poller left may stay claimed: no server can know better.
    assert states <= {"queued", "claimed"}
    await house.time.advance(121)
    claimed = [(await bridge.claim())["id"] for _ in job_ids]
    assert sorted(claimed) == job_ids


async def test_a_thousand_parked_polls_share_a_few_jobs_out(house: Rig):
    bridge = await house.pair()
    polls = [spawn(bridge.next(25)) for _ in range(1000)]
    await house.until_parked(1000)
    ids = {await house.queued(number) for number in range(1, 4)}
    while len(house.home.jobs.waits) > 997:
        await asyncio.sleep(0.01)
    await house.time.advance(26)
    answers = await asyncio.gather(*polls)
    won = [answer["job"]["id"] for answer in answers if answer.status == 200]
    assert sorted(won) == sorted(ids)
    assert {answer.status for answer in answers} == {200, 204}


async def test_the_store_that_fails_is_no_refusal(tmp_path: Path, clock: FakeClock):
    async with serving(tmp_path, clock) as house:
        bridge = await house.pair()

        async def broken(_unit):
            from bridge_agent.store.database import StoreFull

            raise StoreFull

        house.home.jobs._db = type(
            "Broken", (), {"write": staticmethod(broken), "read": house.home.db.read}
        )()
        answer = await bridge.next(25)
        assert (answer.status, answer.code) == (503, "store_full")
        assert "Retry-After" in answer.headers
