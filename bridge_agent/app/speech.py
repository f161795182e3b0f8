"""Transcription as a part of a Bridge: its rooms opened, its handler where this machine can offer it."""

from collections.abc import Sequence
from dataclasses import dataclass

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
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.pipeline.opening import Transcription, open_transcription
from bridge_agent.transcription.transcripts import Transcripts, open_transcripts


@dataclass
class SpeechRooms:
    """What a Bridge has of transcription; without an engine there are the kept transcripts alone."""

    transcripts: Transcripts
    transcription: Transcription | None
    handlers: Sequence[Handler]

    @property
    def for_page(self) -> Speech | None:
        """What the page looks at; None where nothing transcribes here."""
        if self.transcription is None:
            return None
        rooms = self.transcription
        return Speech(rooms.pipeline, rooms.pool, rooms.models)

    @property
    def notes(self) -> list[str]:
        """What a person should be told about the opening."""
        return [*self.transcripts.notes, *(self.transcription.notes if self.transcription else [])]

    @property
    def chores(self) -> list[Chore]:
        """What has to be done for it now and then."""
        chores = [Chore("transcripts", DAY_S, 5.0, self.transcripts.mend)]
        if self.transcription is not None:
            chores.append(Chore("finished parts", DAY_S, HOUR_S, self.transcription.pipeline.forget_old))
        return chores

    async def close(self) -> None:
        """End all children and close the stores."""
        if self.transcription is not None:
            await self.transcription.close()
        await self.transcripts.close()


async def open_speech(
    settings: BridgeSettings, clock: Clock, tasks: Tasks, link: Link, mappings: Mappings
) -> SpeechRooms:
    """Open what transcribes, where this machine has an engine or leaves speech to workers.

    Nothing heavy is imported and no child started before a book is to be heard. Raises BridgeError.
    """
    transcripts = await open_transcripts(settings.data_dir, clock)
    if not offered(settings):
        return SpeechRooms(transcripts, None, [])
    try:
        rooms = await open_transcription(settings, clock, tasks)
    except BaseException:
        await transcripts.close()
        raise
    handler = TranscribeHandler(
        settings,
        clock,
        Sources(mappings, link, clock),
        rooms.pipeline,
        transcripts,
        rooms.models,
        Stow(link, transcripts, clock, settings.transcripts_beside_books),
    )
    return SpeechRooms(transcripts, rooms, [handler])
