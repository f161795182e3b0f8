"""Holds: which parts are in workers' hands, and until when by the monotonic clock (law 5)."""

from collections import defaultdict
from dataclasses import dataclass

from bridge_agent.base.clock import Clock
from bridge_agent.transcription.pipeline.tasks import Claim, Task
from bridge_agent.worker_api.service.lease import token_of


@dataclass
class Hold:
    """A part in a worker's hands; `until` is monotonic, and past once the claim has lapsed."""

    task: Task
    until: float
    lapsed: bool = False

    @property
    def token_id(self) -> int:
        """Whose worker holds it."""
        return token_of(self.task.holder or "") or 0


class Holds:
    """All holds, by their task's id."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._holds: dict[int, Hold] = {}
        self._of: defaultdict[int, dict[int, Hold]] = defaultdict(dict)

    def __len__(self) -> int:
        return len(self._holds)

    def all(self) -> list[Hold]:
        """Return all holds there are, the older parts first."""
        return [hold for _, hold in sorted(self._holds.items())]

    def of(self, token_id: int) -> list[Hold]:
        """Return what a token's workers hold and have not been silent about for too long."""
        now, own = self._clock.monotonic(), self._of.get(token_id)
        return [hold for _, hold in sorted(own.items()) if now < hold.until] if own else []

    def works(self, token_id: int) -> bool:
        """Tell whether a token's workers hold anything, and live."""
        now, own = self._clock.monotonic(), self._of.get(token_id)
        return own is not None and any(now < hold.until for hold in own.values())

    def alive(self) -> list[int]:
        """Return the tasks whose claims live."""
        now = self._clock.monotonic()
        return [id_ for id_, hold in self._holds.items() if now < hold.until]

    def lives(self, claim: Claim) -> bool:
        """Tell whether a claim lives."""
        hold = self._holds.get(claim.id)
        return hold is not None and hold.task.claim == claim and self._clock.monotonic() < hold.until

    def keep(self, task: Task, seconds: float) -> None:
        """Hold a task for so many seconds from now, unless somebody has claimed it since."""
        known = self._holds.get(task.id)
        if known is not None:
            if known.task.attempt > task.attempt:
                return
            self._forget(known)
        hold = Hold(task, self._clock.monotonic() + seconds)
        self._holds[task.id] = self._of[hold.token_id][task.id] = hold

    def get(self, task_id: int) -> Hold | None:
        """Return the hold of a task."""
        return self._holds.get(task_id)

    def drop(self, claim: Claim) -> bool:
        """Forget the hold of a claim, and of no other claim of its part; tell whether it was there."""
        hold = self._holds.get(claim.id)
        if hold is None or hold.task.claim != claim:
            return False
        self._forget(hold)
        return True

    def drop_this(self, hold: Hold) -> bool:
        """Forget a hold, unless it was renewed meanwhile; tell whether it was there."""
        if not self.has(hold):
            return False
        self._forget(hold)
        return True

    def has(self, hold: Hold) -> bool:
        """Tell whether a hold is the one of its part still, neither renewed nor dropped."""
        return self._holds.get(hold.task.id) is hold

    def over(self) -> list[Hold]:
        """Return the holds whose time is over and that nobody has let lapse yet."""
        now = self._clock.monotonic()
        return [hold for hold in self.all() if not hold.lapsed and now >= hold.until]

    def _forget(self, hold: Hold) -> None:
        del self._holds[hold.task.id]
        self._of[hold.token_id].pop(hold.task.id, None)
