"""Progress on a terminal: one bar with figures; plain lines, one a step, where there is no terminal."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from bridge_agent.web.rendering import filesize, span

if TYPE_CHECKING:
    from bridge_agent.transcription.pipeline.opening import Transcription

_LATER = "speed and time left in a moment"


class Watching:
    """Shows how far a book is on the error output, so that the answer stays alone on the other."""

    def __init__(self, title: str, *, quiet: bool = False) -> None:
        """Watch a book; `quiet` says nothing but on a terminal."""
        self._title = title
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._last = ""

    def __enter__(self) -> Self:
        """Begin; the library that draws is loaded for a terminal alone."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[figures]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("Starting", total=None, figures="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def saw(
        self, rooms: "Transcription", step: str, message: str, done: float | None, total: float | None
    ) -> None:
        """Take progress."""
        if self._bar is None:
            # The figures change all the time; without a terminal the step alone is news.
            said = message.partition(",")[0].rstrip(" %0123456789")
            if said != self._last and not self._quiet:
                print(f"{said} …", file=sys.stderr, flush=True)  # noqa: T201
            self._last = said
            return
        coming = rooms.models.downloads()
        if step == "probe" and coming:
            name, (here, whole) = next(iter(coming.items()))
            figures = f"{filesize(here)} of {filesize(whole)}" if whole else filesize(here)
            self._show(f"Downloading the speech model {name}", here, whole, figures)
        elif step == "transcribe":
            self._show("Transcribing", done, total, _figures(rooms, done, total))
        else:
            self._show(message, done, total, _of(done, total) if step == "plan" else "")

    def _show(self, what: str, done: float | None, total: float | None, figures: str) -> None:
        self._bar.update(
            self._task, description=what, completed=done or 0, total=total or None, figures=figures
        )


def _figures(rooms: "Transcription", done: float | None, total: float | None) -> str:
    views = rooms.pipeline.views()
    speed, left = (views[0]["speed"], views[0]["left_seconds"]) if views else (0.0, None)
    percent = f"{int(100 * (done or 0) / total)} %" if total else ""
    rest = _LATER if not speed or left is None else f"{speed:.1f}×, {span(left)} left"
    return " · ".join(text for text in (percent, _of(done, total), rest) if text)


def _of(done: float | None, total: float | None) -> str:
    return f"{span(round(done or 0))} of {span(round(total))}" if total else ""
