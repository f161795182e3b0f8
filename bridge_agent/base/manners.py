"""A child's manners: last in line for the processor, first to go when memory ends, gone with its parent."""

import contextlib
import faulthandler
import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO

import psutil

_STUCK_SECONDS = 900
"""Native code that holds the interpreter this long can't notice that the parent is gone: it ends itself."""


def step_back() -> None:
    """Give this process idle priority, so that a desktop stays usable; what the system refuses is left."""
    process = psutil.Process()
    if sys.platform == "win32":
        _try(process.nice, psutil.IDLE_PRIORITY_CLASS)
        return
    _try(process.nice, 19)
    if sys.platform == "linux":
        _try(process.ionice, psutil.IOPRIO_CLASS_IDLE)
        # The kernel shall end this process before the Bridge itself.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("800")


def _try(set_priority: object, value: object) -> None:
    with contextlib.suppress(psutil.Error, OSError, AttributeError):
        set_priority(value)  # type: ignore[operator]


def own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take standard input and output for the protocol alone; return them.

    Afterwards whatever a library prints goes to standard error, and whoever reads input finds none. From now
    on the end of its input alone ends this process: a Ctrl-C in a terminal, and the stop of a service, reach
    children too, while their parent still wants to hear the parts in hand to their end.
    """
    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(0, os.O_BINARY)
        msvcrt.setmode(1, os.O_BINARY)
    sys.stdout.flush()
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def alive() -> None:
    """Put off the moment at which a process stuck in native code ends itself."""
    faulthandler.dump_traceback_later(_STUCK_SECONDS, exit=True)


def vanish(code: int) -> None:
    """End the process at once, whatever native code is doing."""
    os._exit(code)
