"""Comparing a book's files with what this machine sees of them, as a step of a job."""

from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.jobs.handlers.base import JobContext
from bridge_agent.mapping import sight
from bridge_agent.mapping.compare import Comparison, Findings
from bridge_agent.protocol.bridge import Book, Library

COMPARING = "Comparing the files"


async def compare_files(
    job: JobContext, library: Library, root: Path, book: Book, clock: Clock, limit_s: float
) -> Findings:
    """Run the step `stat`; raises NotSeen for a library that is away before or after, NoAnswer, OSError."""
    total = len(book.files)

    def tell(done: int) -> None:
        job.progress("stat", COMPARING, done, total)

    tell(0)
    await sight.see(library, root, limit_s)
    findings = await Comparison(root, clock, limit_s).run(book.files, tell)
    await sight.still_there(library, root, findings, limit_s)
    return findings
