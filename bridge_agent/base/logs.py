"""Logs: one line a fact, secrets masked whatever happens, the latest kept for the page, files that rotate."""

import logging
import logging.handlers
import re
import sys
import urllib.parse
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.clock import Clock

_TOKENS = re.compile(r"\b(ses|key|cst|brg|wrk)_[A-Za-z0-9_-]{16,}")
_QUERY_SECRET = re.compile(r"([?&](?:token|code|password)=)[^&\s\"']+")
_FORMAT = "%(asctime)s %(levelname)-7s %(message)s"


class Masks:
    """Secrets that must never be seen in a log: by their form, or registered one by one.

    Every line of the log is searched for all that are known, so only the latest `most` of each sort are.
    """

    def __init__(self, most: int = 400) -> None:
        self._most = most
        self._lasting: dict[str, str] = {}
        self._passing: dict[str, str] = {}

    def register(self, secret: str, *, passing: bool = False) -> None:
        """Hide this text, in its URL form too, from now on.

        A `passing` one is a code that soon opens nothing: however many come, they push no password out.
        """
        if len(secret) < 6:
            return
        known = self._passing if passing else self._lasting
        known.pop(secret, None)
        known[secret] = urllib.parse.quote(secret, safe="")
        while len(known) > self._most:
            del known[next(iter(known))]

    def hide(self, text: str) -> str:
        """Return the text with every secret in it replaced."""
        text = _TOKENS.sub(r"\1_…", text)
        text = _QUERY_SECRET.sub(r"\1…", text)
        for known in (self._lasting, self._passing):
            # A copy in one step: lines are written, and secrets registered, by threads too.
            for secret, quoted in known.copy().items():
                text = text.replace(secret, "…").replace(quoted, "…")
        return text


masks = Masks()


@dataclass(frozen=True)
class Line:
    """One line of the log as the page shows it."""

    at: float
    level: str
    text: str


class Recent(logging.Handler):
    """Keeps the latest lines in memory."""

    def __init__(self, most: int = 400) -> None:
        super().__init__()
        self.lines: deque[Line] = deque(maxlen=most)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record's line, masked."""
        text = masks.hide(record.getMessage())
        self.lines.append(Line(record.created, record.levelname.lower(), text))


class _Masking(logging.Formatter):
    """Formats a record, its traceback included, and hides the secrets in it."""

    def format(self, record: logging.LogRecord) -> str:
        return masks.hide(super().format(record))


recent = Recent()


def set_up(level: str, folder: Path | None = None, name: str = "bridge") -> None:
    """Send the log to stderr, to the page's memory and, with a folder, to a file of 5 MiB, four of them kept.

    Raises OSError when the folder can't be written.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr), recent]
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        handlers.append(
            logging.handlers.RotatingFileHandler(
                folder / f"{name}.log", maxBytes=5 << 20, backupCount=3, encoding="utf-8"
            )
        )
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    for handler in handlers:
        handler.setFormatter(_Masking(_FORMAT))
        root.addHandler(handler)
    root.setLevel(level.upper())
    for noisy in ("apscheduler", "aiohttp.access", "asyncio", "aiosqlite", "keyring"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


class Outage:
    """Turns a row of failures into two lines: its begin, and its end with how long and how often."""

    def __init__(self, log: logging.Logger, clock: Clock, what: str) -> None:
        self._log = log
        self._clock = clock
        self._what = what
        self._since: float | None = None
        self._count = 0

    def failed(self, why: str) -> None:
        """Note a failure; only the first of a row is logged."""
        self._count += 1
        if self._since is None:
            self._since = self._clock.monotonic()
            self._log.warning("%s failed: %s", self._what, why)
        else:
            self._log.debug("%s failed again: %s", self._what, why)

    def went_well(self) -> None:
        """Note a success; ends a row of failures with one line."""
        if self._since is not None:
            seconds = self._clock.monotonic() - self._since
            self._log.info("%s works again after %d s and %d failed tries.", self._what, seconds, self._count)
        self._since, self._count = None, 0
