"""A Bridge's transcription, opened: its store, its decoder, its engines and the pipeline over them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.base.files import private_folder
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database, open_database
from bridge_agent.transcription.audio.decoder import Decoder
from bridge_agent.transcription.engines.pool import EnginePool
from bridge_agent.transcription.models.models import Models
from bridge_agent.transcription.pipeline.executor import Executor, Together
from bridge_agent.transcription.pipeline.local import LocalExecutor
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.transcription.pipeline.policy import Retries

DATABASE = "transcription.sqlite3"
SCHEMA = "bridge_agent.transcription.pipeline.schema"


@dataclass
class Transcription:
    """All that transcribes on this machine; `notes` are what a person should be told about the opening."""

    db: Database
    models: Models
    pool: EnginePool
    decoder: Decoder
    pipeline: Pipeline
    notes: list[str] = field(default_factory=list)

    async def close(self) -> None:
        """End all children, then close the store; whoever ran books has stopped them before."""
        await self.pool.stop()
        await self.decoder.stop()
        await self.db.close()


async def open_transcription(
    settings: BridgeSettings,
    clock: Clock,
    tasks: Tasks,
    *,
    elsewhere: Sequence[Executor] = (),
    models_in: Path | None = None,
) -> Transcription:
    """Open the store and build what transcribes; no child is started and nothing heavy imported.

    `elsewhere` are executors besides this machine's own children, who may come and go, `models_in` a folder
    of speech models to share. Raises BridgeError.
    """
    folder = settings.data_dir / "transcription"
    private_folder(folder)
    opened = await open_database(settings.data_dir / DATABASE, SCHEMA, clock=clock)
    models = Models(models_in or settings.data_dir / "models", tasks, ca_file=settings.ca_file)
    pool = EnginePool.of(settings, clock, tasks, models)
    decoder = Decoder(clock, tasks)
    pipeline = Pipeline(
        clock,
        opened.database,
        decoder,
        Together([LocalExecutor(pool, decoder)], elsewhere),
        folder / "cut",
        tasks,
        retries=Retries(
            most_tries=settings.worker_max_tries, longest_pause_s=settings.worker_max_pause_seconds
        ),
    )
    await pipeline.start()
    return Transcription(opened.database, models, pool, decoder, pipeline, opened.notes)
