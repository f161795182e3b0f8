"""The coordinator of a Bridge, opened: the uploads' store, the jobs it goes on with, the wire over both."""

from dataclasses import dataclass, field

from aiohttp import web

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.worker_api.coordinator_v1 import routes
from bridge_agent.worker_api.coordinator_v1.coordinator import Coordinator, make_parts
from bridge_agent.worker_api.gate import Gate
from bridge_agent.worker_api.openapi import document
from bridge_agent.worker_api.service.service import WorkService
from bridge_agent.worker_api.uploads.speech import SpeechJobs
from bridge_agent.worker_api.uploads.uploads import Limits, Uploads, open_uploads


@dataclass
class CoordinatorRooms:
    """What a Bridge has of the coordinator; `notes` are what a person should be told about the opening."""

    coordinator: Coordinator
    uploads: Uploads
    speech: SpeechJobs
    db: Database
    notes: list[str] = field(default_factory=list)

    async def tidy(self) -> None:
        """Remove what an earlier life left half done; before anybody is listened to."""
        await self.uploads.start()

    async def start(self) -> None:
        """Go on with the jobs that an earlier life left; after the pipeline and the service have started."""
        await self.speech.start()

    def add_routes(self, app: web.Application) -> None:
        """Serve the wire at an application's root, and the document of all wires."""
        document.add_routes(app)
        routes.add_routes(app, self.coordinator)

    async def forget_old(self) -> None:
        """Drop finished jobs that are too old or too many; to be done daily."""
        await self.uploads.forget_old()

    async def close(self) -> None:
        """Close the store; whoever spawned the tasks has cancelled them before."""
        await self.db.close()


async def open_coordinator(
    settings: BridgeSettings,
    clock: Clock,
    tasks: Tasks,
    gate: Gate,
    service: WorkService,
    pipeline: Pipeline,
    limits: Limits | None = None,
) -> CoordinatorRooms:
    """Open the uploads beside the workers' service, over one pipeline; raises BridgeError."""
    tokens = service.tokens
    opened = await open_uploads(
        settings.data_dir,
        clock,
        tasks,
        lease_s=settings.worker_lease_seconds,
        longest_pause_s=settings.worker_max_pause_seconds,
        tokens=lambda: [member.id for member in tokens.members()],
        limits=limits,
    )
    uploads = opened.uploads
    speech = SpeechJobs(opened.db, uploads.files, uploads.time, clock, pipeline, tasks)
    uploads.intake.speech = speech
    parts = await make_parts(service, pipeline, tokens, uploads, clock)
    coordinator = Coordinator(gate, tokens, uploads, clock, tasks, parts, speech)
    return CoordinatorRooms(coordinator, uploads, speech, opened.db, opened.notes)
