"""Pairing from the environment: one code, one try that counts."""

import asyncio

import pytest

from bridge_agent.link import first_start, words
from tests.fakes.server import CODE, answer_error, answer_text, drop, until, when


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(first_start, "FIRST_PAUSE_S", 0.02)


@pytest.mark.requirement("R-014", "R-015")
async def test_the_environments_code_is_used_once_and_not_before_start(server, rigs):
    rig = rigs(server_url=server.url, pair_code=CODE)
    await asyncio.sleep(0.05)
    assert server.calls == []
    await rig.start()
    await until(lambda: rig.link.online)
    await until(lambda: rig.line("pairing").startswith("Paired"))
    await rig.stop()

    again = await rigs(server_url=server.url, pair_code=CODE).start()
    await until(lambda: again.link.online)
    assert len(server.of("pair")) == 1


async def test_a_taken_code_is_not_sent_again_after_unpairing_and_a_restart(server, rigs):
    rig = await rigs(server_url=server.url, pair_code=CODE).start()
    await until(lambda: rig.line("pairing").startswith("Paired"))
    await rig.link.unpair()
    await rig.stop()
    again = await rigs(server_url=server.url, pair_code=CODE).start()
    await until(lambda: again.link.reason == words.SPENT)
    assert again.link.state == "unpaired"
    assert len(server.of("pair")) == 1


@pytest.mark.parametrize("answer", [answer_error(401, "invalid_code"), answer_error(403, "no", "Not today.")])
async def test_a_refused_code_is_not_tried_again_neither_now_nor_after_a_restart(server, rigs, answer):
    server.always("pair", answer)
    rig = await rigs(server_url=server.url, pair_code=CODE).start()
    await until(lambda: rig.link.reason != words.UNPAIRED)
    assert rig.link.next_try_at is None
    assert rig.line("pairing") == rig.link.reason
    await rig.stop()
    again = await rigs(server_url=server.url, pair_code=CODE).start()
    await until(lambda: again.link.reason == words.SPENT)
    assert len(server.of("pair")) == 1

    await again.stop()
    server.always("pair", None)
    server.code = "NEWC-0DE1"
    renewed = await rigs(server_url=server.url, pair_code="NEWC-0DE1").start()
    await until(lambda: renewed.link.online)


async def test_no_answer_and_5xx_are_tried_again_with_a_growing_pause(server, rigs, clock, monkeypatch):
    monkeypatch.setattr(first_start, "FIRST_PAUSE_S", 2.0)
    server.script("pair", drop(), answer_error(503, "starting"), answer_text(502, "<html>"))
    rig = await rigs(clock, server_url=server.url, pair_code=CODE).start()
    pauses = []
    for tries in (1, 2, 3):
        await until(lambda: rig.link.next_try_at is not None)
        assert len(server.of("pair")) == tries
        pauses.append((rig.link.next_try_at - clock.now()).total_seconds())
        assert rig.link.state == "unpaired"
        await clock.advance(pauses[-1] + 0.01)
        await server.seen("pair", tries + 1)
        await until(lambda: rig.link.next_try_at is None or rig.link.next_try_at > clock.now())
    await until(lambda: rig.link.online)
    assert all(low <= pause <= 2 * low for low, pause in zip((1, 2, 4), pauses, strict=True))


async def test_a_busy_server_is_asked_again_after_the_time_it_named(server, rigs, clock):
    server.script("pair", answer_error(429, "rate_limited", headers={"Retry-After": "100"}))
    rig = await rigs(clock, server_url=server.url, pair_code=CODE).start()
    await until(lambda: rig.link.next_try_at is not None)
    await clock.advance(99)
    assert len(server.of("pair")) == 1
    await clock.advance(1)
    await until(lambda: rig.link.online)


async def test_an_old_server_gets_one_request_and_the_code_is_kept_for_the_next_start(server, rigs):
    server.script("pair", answer_text(404, "no", "text/plain"))
    rig = await rigs(server_url=server.url, pair_code=CODE).start()
    await until(lambda: "update" in rig.link.reason)
    await asyncio.sleep(0.1)
    assert len(server.of("pair")) == 1
    await rig.stop()
    again = await rigs(server_url=server.url, pair_code=CODE).start()
    await until(lambda: again.link.online)


async def test_a_pairing_from_the_page_ends_the_tries(server, rigs):
    server.always("pair", answer_error(500, "broken"))
    rig = await rigs(server_url=server.url, pair_code="0LDC-0DE0").start()
    await server.seen("pair", 2)
    server.always("pair", None)
    held = asyncio.Event()
    server.script("pair", when(held, answer_error(500, "broken")))
    await server.seen("pair", 3)
    pairing = asyncio.ensure_future(rig.link.pair(server.url, CODE))
    held.set()
    await pairing
    await until(lambda: "from the page" in rig.line("pairing"))
    await until(lambda: rig.link.online)


async def test_a_code_without_an_address_says_so(rigs):
    rig = await rigs(pair_code=CODE).start()
    await until(lambda: "BRIDGE_SERVER_URL" in rig.link.reason)


async def test_a_code_of_the_environment_is_dropped_once_somebody_has_paired_here(server, rigs, clock):
    server.script("pair", answer_error(500, "broken"))
    rig = await rigs(clock, server_url=server.url, pair_code="0LDC-0DE0").start()
    await until(lambda: rig.link.next_try_at is not None)
    await rig.pair(server)
    await rig.link.unpair()
    await clock.advance(1000)
    await asyncio.sleep(0.05)
    assert [call.json["code"] for call in server.of("pair")] == ["0LDC-0DE0", CODE]
    assert rig.link.reason == words.UNPAIRED_HERE
