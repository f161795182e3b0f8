"""Watching: what workers do, told to whoever watches the books, and how the workers are shown."""

from collections.abc import Callable

from bridge_agent.base.clock import Clock
from bridge_agent.transcription.pipeline.live import Live
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.transcription.pipeline.tasks import Task
from bridge_agent.worker_api.service.holds import Hold, Holds
from bridge_agent.worker_api.service.lease import OnPart, WorkerId, WorkerState, WorkerView, token_of
from bridge_agent.worker_api.tokens import Member, Tokens


class Watching:
    """Keeps the views of books and workers up to date."""

    def __init__(
        self,
        clock: Clock,
        pipeline: Pipeline,
        tokens: Tokens,
        holds: Holds,
        hindrance: Callable[[int], str],
    ) -> None:
        """Watch; `hindrance` says what keeps a token's workers from their work."""
        self._clock = clock
        self._pipeline = pipeline
        self._tokens = tokens
        self._holds = holds
        self._hindrance = hindrance
        self._done: dict[int, int] = {}
        self._speeds: dict[int, float] = {}

    def began(self, task: Task) -> None:
        """A worker has a part, to begin it at once or when what it hears is done."""
        if (live := self._live(task)) is not None:
            ahead = any(map(self._is_heard, self._held(task.holder or "", but=task.id)))
            live.began(task, self._name(task), self._clock.monotonic(), ahead=ahead)

    def goes_on(self, task: Task, *, anew: bool) -> None:
        """A worker still has its part: one that this run of the book does not know of yet, or that begins."""
        live = self._live(task)
        if live is not None and (anew or not self._is_on(live, task)):
            self.began(task)

    def heard(self, task: Task, text: str) -> None:
        """A part has these words so far."""
        if (live := self._live(task)) is not None:
            live.heard(task, text, self._clock.monotonic())

    def done(self, task: Task, worker: WorkerId, words: int) -> None:
        """A worker has handed in a part; it begins the next one that it holds only now."""
        self._done[worker.token_id] = self._done.get(worker.token_id, 0) + 1
        if (live := self._live(task)) is not None:
            live.ended(task, self._clock.monotonic(), done=True, words=words)
            self._speeds[worker.token_id] = live.estimator.speed_of(worker.name)
        self._begin_next(worker.holder)

    def let_go(self, task: Task) -> None:
        """A part has left its worker's hands unfinished; it may be in somebody else's already."""
        live = self._live(task)
        if live is not None and self._is_on(live, task):
            live.ended(task, self._clock.monotonic(), done=False)
        self._begin_next(task.holder or "")

    def views(self) -> list[WorkerView]:
        """Return all workers as people see them."""
        return [self._view(member) for member in self._tokens.members()]

    def _view(self, member: Member) -> WorkerView:
        holds = self._holds.of(member.id)
        return WorkerView(
            id=member.id,
            name=member.name,
            state=self._state(member, working=bool(holds)),
            model=member.model,
            created_at=member.created_at,
            last_seen_at=member.last_seen_at,
            engine=member.engine,
            device=member.device,
            speed=round(self._speeds.get(member.id, 0.0), 2),
            parts_done=self._done.get(member.id, 0),
            reason=member.parked or self._hindrance(member.id),
            on=tuple(self._on(hold) for hold in holds),
        )

    def _state(self, member: Member, *, working: bool) -> WorkerState:
        if member.parked is not None:
            return "parked"
        if member.paused:
            return "paused"
        if working:
            return "working"
        return "offline" if self._tokens.gone(member.id) else "idle"

    def _on(self, hold: Hold) -> OnPart:
        live = self._live(hold.task)
        return OnPart(
            recording_id=hold.task.recording_id,
            addressee=None if live is None else live.addressee,
            title="" if live is None else live.title,
            number=hold.task.number,
        )

    def _begin_next(self, holder: str) -> None:
        """A part is out of a worker’s hands: unless it hears another one, it begins what it has ahead."""
        held = self._held(holder)
        if any(map(self._is_heard, held)):
            return
        for hold in held:
            live, task = self._live(hold.task), hold.task
            if live is not None and self._is_on(live, task):
                live.estimator.began(task.number, self._name(task), task.samples, self._clock.monotonic())
                return

    def _held(self, holder: str, but: int | None = None) -> list[Hold]:
        """Return what a worker holds, the older parts first."""
        held = self._holds.of(token_of(holder) or 0)
        return [hold for hold in held if hold.task.holder == holder and hold.task.id != but]

    def _is_heard(self, hold: Hold) -> bool:
        """Tell whether a part in a worker's hands is being heard: no worker says of one that it waits."""
        live, task = self._live(hold.task), hold.task
        return (
            live is not None
            and task.phase != "ready"
            and self._is_on(live, task)
            and live.estimator.hears(task.number)
        )

    def _is_on(self, live: Live, task: Task) -> bool:
        return live.estimator.running().get(task.number) == self._name(task)

    def _name(self, task: Task) -> str:
        return self._tokens.name(token_of(task.holder or "") or 0)

    def _live(self, task: Task) -> Live | None:
        offer = self._pipeline.offers.get(task.recording_id)
        return None if offer is None else offer.live
