"""The parent as a child process sees it: asks, is answered, and takes the child with it when it ends."""

import queue
import threading
from collections.abc import Callable
from typing import BinaryIO, Generic, TypeVar

import msgspec

from bridge_agent.base import frames, manners

PULSE_SECONDS = 0.5

M = TypeVar("M")


class Outlet:
    """The way back to the parent, shared by work and pulse; a parent that is gone ends the child."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, message: msgspec.Struct) -> None:
        """Write one message whole."""
        try:
            with self._lock:
                self._pipe.write(frames.pack(message))
                self._pipe.flush()
        except OSError:
            manners.vanish(0)

    def pulse(self, sign: Callable[[], msgspec.Struct]) -> None:
        """Send a sign of life every half second from now on, whatever the main thread does."""
        threading.Thread(target=self._pulse, args=(sign,), name="pulse", daemon=True).start()

    def _pulse(self, sign: Callable[[], msgspec.Struct]) -> None:
        pause = threading.Event()
        while True:
            self.send(sign())
            pause.wait(PULSE_SECONDS)


class Inlet(threading.Thread, Generic[M]):
    """Reads requests while the child works: what can't wait is seen at once, and so is the parent's end."""

    def __init__(self, pipe: BinaryIO, requests: msgspec.msgpack.Decoder[M]) -> None:
        super().__init__(name="requests", daemon=True)
        self._pipe = pipe
        self._decoder = requests
        self._waiting: queue.SimpleQueue[M] = queue.SimpleQueue()

    def run(self) -> None:
        """Read until the pipe ends, then end the process."""
        while (request := frames.read(self._pipe, self._decoder)) is not None:
            if not self.at_once(request):
                self._waiting.put(request)
        manners.vanish(0)

    def at_once(self, request: M) -> bool:
        """Do on this thread what a request wants; tell whether that was all. By default all requests wait."""
        return False

    def next(self) -> M:
        """Wait for a request."""
        return self._waiting.get()
