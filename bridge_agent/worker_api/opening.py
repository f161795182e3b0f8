"""A Bridge's workers, opened: their store, their service, their listener."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aiohttp import web

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.protocol.bridge import WorkerStatus
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database, open_database
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.web.errors import json_errors
from bridge_agent.worker_api.gate import Gate
from bridge_agent.worker_api.listener import WorkerListener, https_only
from bridge_agent.worker_api.service.executors import WorkerExecutors
from bridge_agent.worker_api.service.service import WorkService
from bridge_agent.worker_api.tokens import DATABASE, SCHEMA, Tokens
from bridge_agent.worker_api.transcription_v1.addresses import KEY, Addresses
from bridge_agent.worker_api.transcription_v1.wire import Wire

AddRoutes = Callable[[web.Application], None]
_HEARTBEAT_STATE = {"paused": "idle", "parked": "idle"}


@dataclass
class Members:
    """Who was invited: known before the pipeline is, which has them as `executors`."""

    db: Database
    tokens: Tokens
    executors: WorkerExecutors
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Invitation:
    """What a person is shown once: the token, and where to go with it."""

    id: int
    name: str
    token: str
    url: str
    fingerprint: str | None


class Workers:
    """All that workers need of a Bridge. `gate` and `service` are there for another wire over the same."""

    def __init__(
        self, settings: BridgeSettings, clock: Clock, tasks: Tasks, pipeline: Pipeline, members: Members
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._db = members.db
        self.tokens = members.tokens
        self.gate = Gate(self.tokens, clock)
        self.service = WorkService(settings, clock, pipeline, self.tokens, members.executors, tasks)
        self.listener = WorkerListener(settings, clock, tasks, self._build)
        self.more_routes: list[AddRoutes] = []
        """What adds another wire's routes to the listener's application; set before `start`."""
        self._wire: Wire | None = None

    async def start(self) -> None:
        """Watch over what workers hold; listen where one was invited. A port that is taken is tried again."""
        self._wire = Wire(
            self.service,
            self.gate,
            self._clock,
            self._settings.worker_stale_seconds,
            Addresses(await self.tokens.key(KEY)),
        )
        await self.service.start()
        if self.tokens.members():
            self.listener.turn_on_somehow()

    async def stop(self) -> None:
        """Listen no more and close the store, before the pipeline's is closed.

        What workers hold they may hand in after the next start.
        """
        await self.listener.stop()
        await self.service.stop()
        await self._db.close()

    async def invite(self, name: str, model: str | None = None) -> Invitation:
        """Make a token, and listen; raises BadName, NameTaken, and BridgeError where it can't listen."""
        await self.listener.turn_on()
        invited = await self.tokens.add(name, model)
        return Invitation(
            id=invited.member.id,
            name=invited.member.name,
            token=invited.token,
            url=self.listener.url,
            fingerprint=self.listener.fingerprint,
        )

    def statuses(self) -> list[WorkerStatus]:
        """Return the workers as the heartbeat carries them."""
        return [
            WorkerStatus(
                name=view.name,
                state=_HEARTBEAT_STATE.get(view.state, view.state),
                engine=view.engine or None,
                device=view.device or None,
                job_id=_job_id([each.addressee for each in view.on]),
                seconds_per_second=view.speed or None,
            )
            for view in self.service.workers()
        ]

    def _build(self) -> web.Application:
        app = web.Application(middlewares=[json_errors("/"), https_only(tls=self.listener.tls)])
        if self._wire is not None:
            self._wire.add_routes(app)
        for add_routes in self.more_routes:
            add_routes(app)
        return app


async def open_members(settings: BridgeSettings, clock: Clock) -> Members:
    """Open the workers' store; raises BridgeError."""
    opened = await open_database(settings.data_dir / DATABASE, SCHEMA, clock=clock)
    tokens = Tokens(opened.database, clock)
    await tokens.load()
    return Members(opened.database, tokens, WorkerExecutors(settings, tokens), opened.notes)


def open_workers(
    settings: BridgeSettings, clock: Clock, tasks: Tasks, pipeline: Pipeline, members: Members
) -> Workers:
    """Build what workers need over a pipeline that has `members.executors` among its own; then `start` it."""
    return Workers(settings, clock, tasks, pipeline, members)


def _job_id(addressees: Sequence[str | None]) -> int | None:
    """Return the server's id of the job that a worker is on, out of `SERVER_ID/JOB_ID`."""
    for addressee in addressees:
        _, slash, job_id = (addressee or "").rpartition("/")
        if slash and job_id.isdigit():
            return int(job_id)
    return None
