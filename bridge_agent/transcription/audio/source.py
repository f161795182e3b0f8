"""An open file as the decoder reads it: through Python, so that a dead drive is told from a broken file."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from bridge_agent.base.clock import perf
from bridge_agent.transcription.audio.errors import AudioAway, Stopped

_RETRY_BYTES = 4096


class Asking:
    """What this process asks of file systems: bytes had so far, and since when an answer is owed."""

    def __init__(self) -> None:
        self.bytes_read = 0
        self._since: float | None = None

    @contextlib.contextmanager
    def now(self) -> Iterator[None]:
        """Count the time inside as owed by the file system."""
        self._since = perf()
        try:
            yield
        finally:
            self._since = None

    @property
    def waiting(self) -> float:
        """For how many seconds the file system has kept the present call waiting."""
        since = self._since
        return 0.0 if since is None else perf() - since


asking = Asking()
"""The one of this process: a child works on one file at a time."""


class Source:
    """A file-like object for PyAV. Remembers what the system refused, and ends at a stop."""

    def __init__(self, path: Path, stop: threading.Event) -> None:
        """Open the file; raises AudioAway when the system refuses."""
        self._path = path
        self._stop = stop
        self.name = path.name.encode("utf-8", "replace").decode()
        self.refused: OSError | None = None
        self.hidden: tuple[tuple[int, bytes], ...] = ()
        """(place, bytes) shown to the reader instead of what stands there."""
        try:
            # No buffer between: the decoder asks for large blocks and keeps its own.
            with asking.now():
                self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise self._away(error) from error

    def __enter__(self) -> "Source":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, count: int) -> bytes:
        """Read up to `count` bytes; nothing at the end, after a stop, and where the system refuses."""
        if self._stop.is_set() or self.refused is not None:
            return b""
        try:
            place = self._file.tell() if self.hidden else 0
            with asking.now():
                block = self._file.read(count)
        except OSError as error:
            self.refused = error
            return b""
        asking.bytes_read += len(block)
        return self._shown(block, place) if self.hidden else block

    def _shown(self, block: bytes, place: int) -> bytes:
        shown = bytearray(block)
        for at, instead in self.hidden:
            for n, byte in enumerate(instead, at - place):
                if 0 <= n < len(shown):
                    shown[n] = byte
        return bytes(shown)

    def seek(self, place: int, whence: int = 0) -> int:
        """Move; returns the new place, or -1 where there is none: the decoder tries odd ones."""
        try:
            return self._file.seek(place, whence)
        except (OSError, ValueError, OverflowError):
            return -1

    def tell(self) -> int:
        """Return the place."""
        return self._file.tell()

    def check(self) -> None:
        """Raise Stopped after a stop, and AudioAway where the whole file, not one place in it, is refused."""
        if self._stop.is_set():
            raise Stopped
        if self.refused is None:
            return
        try:
            with asking.now(), self._path.open("rb", buffering=0) as again:
                again.read(_RETRY_BYTES)
        except OSError as error:
            raise self._away(error) from error

    def _away(self, error: OSError) -> AudioAway:
        why = error.strerror or type(error).__name__
        return AudioAway(
            f"“{self._path.name.encode('utf-8', 'replace').decode()}” can't be read ({why}); "
            "check that its drive is connected and that the Bridge may read it."
        )
