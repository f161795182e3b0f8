"""The kind `bridge.verify`: proves that this machine sees a book's files, changing nothing (R-097…R-108)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import files as disk
from bridge_agent.jobs.handlers.asking import Books, ask_for_book
from bridge_agent.jobs.handlers.base import Done, Failed, JobContext, Outcome
from bridge_agent.jobs.handlers.comparing import COMPARING, compare_files
from bridge_agent.jobs.handlers.probe import probe
from bridge_agent.mapping import sight
from bridge_agent.mapping.compare import LIMIT_S, Compared, Findings, no_answer
from bridge_agent.mapping.resolve import DENIED, Finder, NotHere, Seen
from bridge_agent.protocol.bridge import (
    MAX_HOLD_S,
    MAX_VERIFY_FILES,
    VERIFY,
    Book,
    BookFile,
    Library,
    VerifiedFile,
    VerifyResult,
    plain,
)
from bridge_agent.protocol.text import cut

FINDING = "Finding the library"
ASKING = "Asking the server for the book's files"
PROBING = "Checking the book's folder can be written"
HOLDING = "Holding, as asked"
NOT_CHECKED = "not checked"

_LOOK_AGAIN_S = 1.0
_TIDY_S = 3.0


class BadParams(BridgeError):
    """The job’s hold_seconds must be a number from 0 to 600; queue it anew with such a one."""

    code = "invalid_params"


class Places(Protocol):
    """Where this machine sees the libraries."""

    async def place_of(self, library_id: int) -> tuple[Library, Path]:
        """Return a listed library and its root here; raises BridgeError for one that is not listed."""
        ...


class VerifyHandler:
    """Runs `bridge.verify` in the light lane."""

    kind = VERIFY
    lane = "light"

    def __init__(
        self,
        mappings: Places,
        link: Books,
        clock: Clock,
        limit_s: float = LIMIT_S,
        tell: Callable[[int, bool], None] | None = None,
    ) -> None:
        """Take the rooms it asks; a folder that gives no answer for `limit_s` seconds counts as dead.

        `tell` hears of each library that was looked at whether it was seen.
        """
        self._tell = tell
        self._mappings = mappings
        self._link = link
        self._clock = clock
        self._limit_s = limit_s

    async def run(self, job: JobContext) -> Outcome:
        """Run the five steps; raises BridgeError where there is nothing to compare with."""
        began = self._clock.monotonic()
        hold = hold_seconds(job.params)
        job.progress("mapping", FINDING)
        library, root = await self._mappings.place_of(job.library_id)
        job.progress("lookup", ASKING)
        book = await ask_for_book(self._link, self._clock, job.library_id, job.path or None)
        error, findings = await self._compare(job, library, root, book)
        writable_error: str | None = NOT_CHECKED
        if error is None:
            job.progress("writable", PROBING)
            await self._trusted(job)
            writable_error = await self._probe(root, book)
        await self._hold(job, hold)
        elapsed_ms = round((self._clock.monotonic() - began) * 1000)
        result = _result(job, root, book, findings, writable_error, elapsed_ms)
        return Done(result) if error is None else Failed(error, result)

    async def _compare(
        self, job: JobContext, library: Library, root: Path, book: Book
    ) -> tuple[str | None, Findings]:
        """Compare all files; return the sentence that fails the job, or None, and what was found.

        A root that is gone, empty or does not answer gives the sentence alone: a library that is away is
        never told as so many missing files. A closed one gives it with what is true of every file.
        """
        try:
            findings = await compare_files(job, library, root, book, self._clock, self._limit_s)
        except sight.NotSeen as error:
            if self._tell is not None:
                self._tell(library.id, False)
            return error.message, _all_alike(book.files, error.each)
        except BridgeError as error:
            return error.message, Findings([], {})
        except OSError as error:
            why = f"the folder {root} can’t be resolved ({error.strerror or error})"
            return sight.not_seen(library, why).message, Findings([], {})
        if remarks := _remarks(findings):
            job.progress("stat", COMPARING + remarks, len(book.files), len(book.files))
        if self._tell is not None and findings.matched:
            self._tell(library.id, True)
        return _mismatch(findings), findings

    async def _trusted(self, job: JobContext) -> None:
        """Withhold the one write while the lease can't be believed in, until a report is taken (law 5)."""
        while not job.trusted():
            await self._clock.sleep(_LOOK_AGAIN_S)

    async def _probe(self, root: Path, book: Book) -> str | None:
        """Try to write in the book's own folder; return why that can't be, or None.

        A cancel waits until the probe file is gone: nothing of it may stay in the library (R-099).
        """
        tasks = Tasks("verify")
        probing = tasks.spawn(self._probe_in_thread(root, book), "probe")
        try:
            return await asyncio.shield(probing)
        except asyncio.CancelledError:
            # A dead mount must not keep a stopping Bridge; its thread removes the file when it comes back.
            await asyncio.wait({probing}, timeout=_TIDY_S)
            raise

    async def _probe_in_thread(self, root: Path, book: Book) -> str | None:
        try:
            return await disk.call(self._limit_s, _probe_book, root, book)
        except TimeoutError:
            return no_answer(root, self._limit_s).message
        except BridgeError as error:
            return error.message

    async def _hold(self, job: JobContext, seconds: float) -> None:
        """Wait as asked, counting the seconds (R-104); against a deadline, so that the sum does not drift."""
        if not seconds:
            return
        began = self._clock.monotonic()
        passed = 0
        job.progress("hold", HOLDING, 0, seconds)
        while passed < seconds:
            following = min(passed + 1, seconds)
            await self._clock.sleep(max(0.0, began + following - self._clock.monotonic()))
            passed += 1
            job.progress("hold", HOLDING, min(passed, seconds), seconds)


def hold_seconds(params: Mapping[str, Any]) -> float:
    """Return how long to hold, 0 where it is not asked for; raises BadParams.

    The server has checked it already; a Bridge takes nobody's word for how long a lane is kept.
    """
    value = params.get("hold_seconds", 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_HOLD_S:
        raise BadParams
    return value


def _all_alike(listed: Sequence[BookFile], error: str | None) -> Findings:
    if error is None:
        return Findings([], {})
    return Findings(listed, {index: Seen(error=error) for index in range(len(listed))})


def _mismatch(findings: Findings) -> str | None:
    wrong = findings.wrong
    if not wrong:
        return None
    first = wrong[0]
    if any(one.error == DENIED for one in wrong):
        advice = "let the user that the Bridge runs as read the library, then verify again."
    else:
        advice = "scan the library on the server, or mend the files here, then verify again."
    # An error is cut at 1 KiB: the advice must outlive a long path.
    path = cut(first.file.path, 400)
    return (
        f"{len(wrong)} of {findings.total} files differ from the server’s list, the first is {path} "
        f"({first.error}); {advice}"
    )


def _remarks(findings: Findings) -> str:
    """Tell of names found in another Unicode form (settled point 13), and of those that two could bear."""
    forms = sum(one.seen.other_form for one in findings.odd)
    twins = [one for one in findings.wrong if one.seen.ambiguous]
    said = ""
    if forms:
        said += f"; {_count(forms, 'name')} found in another Unicode form"
    if twins:
        said += (
            f"; {_count(len(twins), 'name')} not taken, since two names here differ from it only in their "
            f"Unicode form: {twins[0].file.path}"
        )
    return said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _probe_book(root: Path, book: Book) -> str | None:
    """Probe the book's folder, or the folder that holds a book of one file; belongs in a thread."""
    path = book.path
    if any(file.path == path for file in book.files):
        path = path.rpartition("/")[0]
    try:
        folder = Finder(root).folder(path)
    except NotHere:
        return "the book’s folder is not found here"
    except OSError as error:
        return error.strerror or str(error)
    return probe(folder.path)


def _result(
    job: JobContext,
    root: Path,
    book: Book,
    findings: Findings,
    writable_error: str | None,
    elapsed_ms: int,
) -> dict[str, Any]:
    result = VerifyResult(
        library_id=job.library_id,
        mount_path=str(root),
        path=book.path or job.path,
        files=[_file(one) for one in findings.shown(MAX_VERIFY_FILES)],
        writable=writable_error is None,
        elapsed_ms=elapsed_ms,
    )
    if writable_error is not None:
        result.writable_error = writable_error
    wire: dict[str, Any] = plain(result)
    return wire


def _file(one: Compared) -> VerifiedFile:
    return VerifiedFile(
        path=one.file.path,
        size=one.seen.size,
        expected_size=one.file.size,
        ok=one.ok,
        error=one.error,
    )
