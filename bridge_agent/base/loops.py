"""What each loop is doing now: one readable line a loop, for the page and for /healthz (law 6)."""

from dataclasses import dataclass

from bridge_agent.base.clock import Clock


@dataclass
class Activity:
    """One loop's line and when it was last written, in monotonic seconds."""

    name: str
    line: str
    since: float
    broken: bool = False


class Loops:
    """The board on which every loop keeps its line."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._board: dict[str, Activity] = {}

    def say(self, name: str, line: str) -> None:
        """Write what a loop is doing now."""
        self._board[name] = Activity(name, line, self._clock.monotonic())

    def broke(self, name: str, line: str) -> None:
        """Write that a loop has ended against the plan; the process is then not healthy."""
        self._board[name] = Activity(name, line, self._clock.monotonic(), broken=True)

    def all(self) -> list[Activity]:
        """Return the lines in the order in which the loops first spoke."""
        return list(self._board.values())

    @property
    def healthy(self) -> bool:
        """Whether no loop has broken."""
        return not any(activity.broken for activity in self._board.values())
