"""Child processes: asked, heard, ended, and what they leave behind."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator

import psutil
import pytest

from bridge_agent.base import children
from bridge_agent.base.tasks import Tasks
from tests.fakes.odd_child import Hurry, Said, Say, replies

PIPE, STDOUT, STDERR = 0, 1, 2


class Attended:
    """A running odd child."""

    def __init__(self, process: children.ChildProcess) -> None:
        self.process = process
        self.replies: asyncio.Queue[Said] = asyncio.Queue()
        self.code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def say(self, into: int, raw: bytes = b"") -> Said:
        await self.process.send(Say(into, raw))
        async with asyncio.timeout(20):
            return await self.replies.get()


@pytest.fixture
async def child(monkeypatch) -> AsyncIterator[Attended]:
    monkeypatch.setenv("BRIDGE_PAGE_PASSWORD", "hush")
    tasks = Tasks("test")
    made = Attended(await children.start("tests.fakes.odd_child", "odd child", most_lines=3))
    made.process.attend(tasks, replies, made.replies.put_nowait, made.code.set_result)
    yield made
    assert await made.process.end(10)
    assert await tasks.drain(5)


async def test_a_child_answers_sees_at_once_what_can_not_wait_and_has_no_setting(child):
    child.process.write(Hurry())
    child.process.write(Hurry())
    assert await child.say(STDERR) == Said(2)
    names = psutil.Process(child.process.pid).environ()
    assert not [name for name in names if name.startswith("BRIDGE_")]


async def test_stray_prints_are_last_words_the_latest_few_of_them_cut(child):
    await child.say(STDOUT, b"one\ntwo\nthree\n")
    await child.say(STDERR, b"x" * 600 + b"\nno end")
    await child.process.send(Say(STDERR, end_with=7))
    async with asyncio.timeout(20):
        assert await child.code == 7
    assert list(child.process.last_words) == ["three", "x" * 500, "no end"]


async def test_a_line_without_end_is_not_collected(child):
    for _ in range(8):
        await child.say(STDERR, b"y" * 8000)
    assert await child.process.end(10)
    assert all(len(line) == 500 for line in child.process.last_words)


async def test_a_child_that_writes_anything_else_into_its_pipe_is_killed(child, caplog):
    await child.process.send(Say(PIPE, b"\xff\xff\xff\xff"))
    async with asyncio.timeout(20):
        assert await child.code != 0
    assert not psutil.pid_exists(child.process.pid)
    assert "The odd child wrote no message" in caplog.text


async def test_ending_reaps_the_process_and_may_be_done_twice(child):
    assert await child.process.end(10)
    assert not psutil.pid_exists(child.process.pid)
    assert child.code.done()
    assert await child.process.end(10)
    await child.process.send(Say(STDERR))


def test_a_crash_in_native_code_is_told_from_an_end():
    assert children.crashed(-11)
    assert children.crashed(0xC0000005)
    assert not children.crashed(-9)
    assert not children.crashed(0)
    assert not children.crashed(None)


@pytest.mark.skipif(sys.platform == "win32", reason="no signal reaches one process alone there")
async def test_a_child_lives_through_what_a_terminal_sends_to_all_and_ends_with_its_input():
    code = (
        "from bridge_agent.base import manners\n"
        "incoming, outgoing = manners.own_pipes()\n"
        "while line := incoming.readline():\n"
        "    outgoing.write(line)\n"
        "    outgoing.flush()\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for sent in (None, signal.SIGINT, signal.SIGTERM):
        if sent is not None:
            child.send_signal(sent)
        child.stdin.write(b"still there\n")
        assert await child.stdout.readline() == b"still there\n"
    child.stdin.close()
    assert await child.wait() == 0
