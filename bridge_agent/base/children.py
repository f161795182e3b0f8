"""Child processes of ours: `python -m module`, messages through its pipes, its last words kept."""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from bridge_agent.base import frames
from bridge_agent.base.tasks import Tasks

_PACKAGE_PARENT = Path(__file__).resolve().parents[2]
_LONGEST_LINE = 8192
_CRASHES = frozenset(
    {
        -signal.SIGABRT, 134, -signal.SIGSEGV, 139, -4, 132, -7, 135, -8, 136,
        3,  # what abort() ends with on Windows
        0xC0000005, 0xC0000409, 0xC000001D,
    }
)  # fmt: skip

M = TypeVar("M")

_log = logging.getLogger(__name__)


class ChildProcess:
    """A process that was started; whoever starts one attends to it, and ends it."""

    def __init__(self, process: asyncio.subprocess.Process, what: str, most_lines: int) -> None:
        self._process = process
        self._what = what
        self._pipes: list[asyncio.Task[None]] = []
        self.last_words: deque[str] = deque(maxlen=most_lines)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def attend(
        self,
        tasks: Tasks,
        replies: msgspec.msgpack.Decoder[M],
        take: Callable[[M], None],
        ended: Callable[[int], None],
    ) -> None:
        """Give each message to `take`, and, once all is said, the exit code to `ended`.

        A child that writes anything but messages is killed.
        """
        listening = tasks.spawn(self._listen(), f"{self._what}’s last words")
        reading = tasks.spawn(self._read(listening, replies, take, ended), f"{self._what}’s replies")
        self._pipes = [reading, listening]

    def write(self, message: msgspec.Struct) -> None:
        """Hand a message to the pipe; that it is broken, its reader finds out."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(frames.pack(message))

    async def send(self, message: msgspec.Struct) -> None:
        """Write a message and wait until the pipe has room again."""
        self.write(message)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            await self._process.stdin.drain()

    async def end(self, seconds: float) -> bool:
        """Kill the process and wait until the system has it back; tell whether it has within `seconds`."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
                if self._pipes:
                    await asyncio.wait(self._pipes)
        except TimeoutError:
            return False
        return True

    async def _read(
        self,
        listening: "asyncio.Task[None]",
        replies: msgspec.msgpack.Decoder[M],
        take: Callable[[M], None],
        ended: Callable[[int], None],
    ) -> None:
        process = self._process
        assert process.stdout is not None
        try:
            while (reply := await frames.receive(process.stdout, replies)) is not None:
                take(reply)
        except frames.BadFrame as error:
            _log.warning("The %s wrote no message: %s", self._what, error)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        code = await process.wait()
        await asyncio.wait({listening})
        if process.stdin is not None:
            process.stdin.close()
        ended(code)

    async def _listen(self) -> None:
        pipe = self._process.stderr
        assert pipe is not None
        rest = b""
        while chunk := await pipe.read(_LONGEST_LINE):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            self.last_words.extend(map(_shortened, lines))
        if rest:
            self.last_words.append(_shortened(rest))


async def start(module: str, what: str, most_lines: int) -> ChildProcess:
    """Start `python -m module`; `what` names it in the log. Raises OSError when the system refuses."""
    process = await asyncio.create_subprocess_exec(
        *command(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(dict(os.environ)),
    )
    return ChildProcess(process, what, most_lines)


def command(module: str) -> list[str]:
    """Return the command that runs a module of this package; the folder it runs in is not looked in."""
    return [sys.executable, "-P", "-m", module]


def environment(given: dict[str, str]) -> dict[str, str]:
    """Return a child's environment: no setting of the Bridge, secrets among them; one thread; no network."""
    kept = {name: value for name, value in given.items() if not name.startswith("BRIDGE_")}
    before = [kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else []
    return kept | {
        "PYTHONPATH": os.pathsep.join([str(_PACKAGE_PARENT), *before]),
        "PYTHONUTF8": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }


def crashed(code: int | None) -> bool:
    """Tell whether a process that ended with this code was broken by native code, on Windows too."""
    return code in _CRASHES


def _shortened(line: bytes) -> str:
    return line[:500].decode("utf-8", "replace")
