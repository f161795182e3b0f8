"""The process itself: asked to stop, telling its service manager, started twice on purpose or not."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable


def on_stop_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    """Call `stop` at the first SIGTERM, SIGINT or Ctrl-Break; a second one ends the process at once."""
    on_each_stop_signal(loop, stop)


def on_each_stop_signal(loop: asyncio.AbstractEventLoop, *steps: Callable[[], None]) -> None:
    """Take one step at each SIGTERM, SIGINT or Ctrl-Break; one more than there are ends the process."""
    left = list(steps)

    def asked_to_stop() -> None:
        if not left:
            os._exit(1)
        left.pop(0)()

    signals = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        # The Proactor loop has no add_signal_handler.
        for number in (*signals, signal.SIGBREAK):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(asked_to_stop))
        return
    for number in signals:
        loop.add_signal_handler(number, asked_to_stop)


def notify_manager(message: str) -> None:
    """Tell systemd, where it asked to be told (`Type=notify`): READY=1, STOPPING=1, WATCHDOG=1."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address or sys.platform == "win32":
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
        try:
            line.connect(address)
            line.sendall(message.encode())
        except OSError:
            # A manager that does not listen any more loses a message, not the Bridge its work.
            return
