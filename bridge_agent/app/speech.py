"""Transcription as a part of a Bridge: its rooms opened, its workers, its handler where it can be offered."""

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from bridge_agent.app.housekeeping import DAY_S, HOUR_S, Chore
from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs.handlers.base import Handler
from bridge_agent.jobs.handlers.transcribe import TranscribeHandler, offered
from bridge_agent.jobs.handlers.transcribe_source import Sources
from bridge_agent.jobs.handlers.transcribe_stow import Stow
from bridge_agent.link.link import Link
from bridge_agent.mapping.mappings import Mappings
from bridge_agent.page.speech import Speech
from bridge_agent.protocol.bridge import WorkerStatus
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.cluster.opening import open_cluster
from bridge_agent.transcription.pipeline.executor import Together
from bridge_agent.transcription.pipeline.opening import Transcription, open_transcription
from bridge_agent.transcription.transcripts import Transcripts, open_transcripts
from bridge_agent.worker_api.coordinator_v1.opening import open_coordinator
from bridge_agent.worker_api.opening import Workers, open_members, open_workers


@dataclass
class SpeechRooms:
    """What a Bridge has of transcription; without an engine there are the kept transcripts alone."""

    transcripts: Transcripts
    chores: list[Chore]
    notes: list[str]
    transcription: Transcription | None = None
    workers: Workers | None = None
    handlers: list[Handler] = field(default_factory=list)
    closing: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def for_page(self) -> Speech | None:
        """What the page looks at; None where nothing transcribes here."""
        rooms = self.transcription
        return None if rooms is None else Speech(rooms.pipeline, rooms.pool, rooms.models)

    def statuses(self) -> list[WorkerStatus]:
        """Return the workers as the heartbeat carries them."""
        return [] if self.workers is None else self.workers.statuses()

    async def close(self) -> None:
        """End listener and children, close the stores."""
        await self.closing.aclose()


async def open_speech(settings: BridgeSettings, clock: Clock, link: Link, mappings: Mappings) -> SpeechRooms:
    """Open what transcribes, where this machine has an engine or leaves speech to workers.

    Nothing heavy is imported and no child started before a book is to be heard; the workers' listener is on
    only where one was invited. Raises BridgeError.
    """
    async with AsyncExitStack() as closing:
        transcripts = await open_transcripts(settings.data_dir, clock)
        closing.push_async_callback(transcripts.close)
        chores = [Chore("transcripts", DAY_S, 5.0, transcripts.mend)]
        found = SpeechRooms(transcripts, chores, list(transcripts.notes))
        if offered(settings):
            await _open_pipeline(found, closing, settings, clock, link, mappings)
        found.closing = closing.pop_all()
    return found


async def _open_pipeline(
    found: SpeechRooms,
    closing: AsyncExitStack,
    settings: BridgeSettings,
    clock: Clock,
    link: Link,
    mappings: Mappings,
) -> None:
    tasks = Tasks("speech")
    members = await open_members(settings, clock)
    closing.push_async_callback(members.db.close)
    cluster = open_cluster(settings, clock, tasks)
    if cluster is not None:
        closing.push_async_callback(cluster.close)
    elsewhere = Together([] if cluster is None else [cluster.executor], members.executors)
    rooms = await open_transcription(settings, clock, tasks, elsewhere=elsewhere)
    closing.push_async_callback(rooms.close)
    workers = open_workers(settings, clock, tasks, rooms.pipeline, members)
    coordinator = await open_coordinator(
        settings, clock, tasks, workers.gate, workers.service, rooms.pipeline
    )
    workers.more_routes.append(coordinator.add_routes)
    # At the stop the listener goes first, then what works, then the stores.
    closing.push_async_callback(workers.stop)
    closing.push_async_callback(coordinator.close)
    closing.push_async_callback(tasks.cancel)
    closing.push_async_callback(workers.listener.stop)
    await coordinator.tidy()
    await workers.start()
    await coordinator.start()
    found.transcription, found.workers = rooms, workers
    found.notes += [*members.notes, *rooms.notes, *coordinator.notes]
    found.chores += [
        Chore("finished parts", DAY_S, HOUR_S, rooms.pipeline.forget_old),
        Chore("uploads", DAY_S, HOUR_S, coordinator.forget_old),
    ]
    stow = Stow(link, found.transcripts, clock, settings.transcripts_beside_books)
    sources = Sources(mappings, link, clock)
    found.handlers.append(
        TranscribeHandler(settings, clock, sources, rooms.pipeline, found.transcripts, rooms.models, stow)
    )
