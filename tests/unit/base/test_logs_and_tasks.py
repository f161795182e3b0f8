"""Masked logs, outages in two lines, tasks that somebody answers for."""

import asyncio
import logging

import pytest

from bridge_agent.base import logs
from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.tasks import Tasks

TOKEN = "brg_" + "aB3-_x" * 7


def test_tokens_codes_and_query_secrets_never_reach_a_log():
    masks = logs.Masks()
    masks.register("7KQM4XHD")
    hidden = masks.hide(f"{TOKEN} /media?token=abc&x=1 7KQM4XHD cst_{'z' * 40}")
    assert TOKEN[4:] not in hidden
    assert "abc" not in hidden
    assert "7KQM4XHD" not in hidden
    assert "z" * 10 not in hidden
    assert "x=1" in hidden


def test_only_the_latest_codes_are_kept_and_none_of_them_pushes_a_password_out():
    masks = logs.Masks(most=300)
    masks.register("correct horse")
    for number in range(1000):
        masks.register(f"CODE{number:04}", passing=True)
    masks.register("CODE0700", passing=True)
    masks.register("CODE1000", passing=True)
    every_code = " ".join(f"CODE{number:04}" for number in range(1001))
    hidden = masks.hide(f"{every_code} correct horse correct%20horse")
    seen = [number for number in range(1001) if f"CODE{number:04}" in hidden]
    assert seen == [*range(700), 701]
    assert "horse" not in hidden


def test_even_lasting_secrets_are_not_kept_without_end():
    masks = logs.Masks(most=3)
    for number in range(5):
        masks.register(f"password {number}")
        masks.register(f"password {number}")
    hidden = masks.hide(" ".join(f"password {number}" for number in range(5)))
    assert hidden == "password 0 password 1 … … …"


def test_a_traceback_with_a_token_is_masked_in_the_file(tmp_path):
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    try:
        logs.set_up("info", tmp_path, "test")
        try:
            raise ValueError(TOKEN)
        except ValueError:
            logging.getLogger("x").exception("failed with %s", TOKEN)
        text = (tmp_path / "test.log").read_text()
    finally:
        for handler in root.handlers[:]:
            root.removeHandler(handler)
            if handler is not logs.recent:
                handler.close()
        for handler in kept:
            root.addHandler(handler)
        root.setLevel(level)
    assert "ValueError" in text
    assert TOKEN not in text
    assert all(TOKEN not in line.text for line in logs.recent.lines)


def test_an_outage_is_two_lines(clock, caplog):
    caplog.set_level(logging.INFO)
    outage = logs.Outage(logging.getLogger("x"), clock, "The heartbeat")
    for _ in range(50):
        outage.failed("no answer")
    outage.went_well()
    outage.went_well()
    lines = [r.getMessage() for r in caplog.records]
    assert lines == [
        "The heartbeat failed: no answer",
        "The heartbeat works again after 0 s and 50 failed tries.",
    ]


async def test_shielded_work_ends_though_its_waiter_is_cancelled():
    tasks, ended = Tasks("test"), asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0)
        ended.set()

    waiter = asyncio.create_task(tasks.shielded(work(), "work"))
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    assert await tasks.drain(1)
    assert ended.is_set()


async def test_a_task_nobody_awaits_is_logged_when_it_fails(caplog):
    async def fail() -> None:
        raise ValueError("gone wrong")

    tasks = Tasks("test")
    task = tasks.spawn(fail(), "fail")
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert "gone wrong" in caplog.text
    assert len(tasks) == 0


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_pauses_grow_to_their_ceiling_and_keep_their_spread_there(chance):
    pauses = [full_jitter(n, 1, 60, lambda: chance) for n in range(1, 100)]
    assert pauses == sorted(pauses)
    assert 30 <= pauses[-1] <= 60
