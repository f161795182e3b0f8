"""The step `convert`: a part's audio is cut, a bounded few ahead of who hears it."""

import sqlite3
from collections.abc import Sequence

from bridge_agent.transcription.audio.errors import AudioAway, AudioChanged, DecoderUnavailable, NoRoom
from bridge_agent.transcription.model import Plan, Survey
from bridge_agent.transcription.pipeline import policy, tasks, troubles
from bridge_agent.transcription.pipeline.cutting import Cutting
from bridge_agent.transcription.pipeline.desk import LOCAL
from bridge_agent.transcription.pipeline.order import SourceFile
from bridge_agent.transcription.pipeline.reading import Reader, SourceChanged
from bridge_agent.transcription.pipeline.signs import Poll
from bridge_agent.transcription.pipeline.stepper import Stepper
from bridge_agent.transcription.pipeline.tasks import Task
from bridge_agent.transcription.pipeline.tools import Tools, holder

NAME = "convert"


class Converting:
    """Cuts the parts of one recording."""

    def __init__(
        self, tools: Tools, recording_id: int, plan: Plan, survey: Survey, files: Sequence[SourceFile]
    ) -> None:
        self._tools = tools
        self._reads = Reader(tools.db, tools.clock, tools.decoder).reads
        self._recording_id = recording_id
        self._survey = survey
        self._files = files
        self._step = policy.convert()
        self.cutting = Cutting(tools.decoder, plan, files, tools.folder / str(recording_id))
        self._stepper = Stepper(NAME, tools.desk, tools.tasks, self._poll, self._cut)

    async def run_once(self) -> bool:
        """Cut the next part, if fewer than may are lying ready; tell whether there was one.

        Raises Trouble, SourceChanged, StoreFull.
        """
        # Who is there now is the loop's to tell, not that of the thread that reads the store.
        ahead = self._tools.ahead
        if not await self._tools.db.read(lambda c: self._to_do(c, ahead)):
            return False
        return await self._stepper.run_once()

    async def close(self) -> None:
        """Stop reading."""
        await self.cutting.close()

    async def _poll(self, poll: Poll) -> Task:
        who = holder(self._recording_id, NAME)
        return await self._tools.desk.poll(poll, self._step, who, {self._recording_id})

    async def _cut(self, task: Task) -> Task | None:
        paths = [file.path for file in self._files]
        try:
            cut = await self.cutting.cut(task.number, await self._tools.db.read(self._wanted))
        except NoRoom as full:
            raise troubles.disk_full(self.cutting.path(task.number).parent, full.message) from full
        except AudioAway as away:
            raise troubles.source_away(paths, away.message) from away
        except DecoderUnavailable as missing:
            raise troubles.no_engine(missing.message, self._reads) from missing
        except AudioChanged:
            await self._check_source()
            raise
        return await self._tools.desk.converted(task.claim, cut.sha256, cut.size)

    async def _check_source(self) -> None:
        """Raise SourceChanged where a file is not the one that was surveyed."""
        for file, known in zip(self._files, self._survey.files, strict=True):
            try:
                now = await self._tools.decoder.stamp(file.path)
            except AudioAway as away:
                raise troubles.source_away([f.path for f in self._files], away.message) from away
            if now != known.stamp:
                raise SourceChanged(file.relative)

    def _to_do(self, c: sqlite3.Connection, ahead: int) -> bool:
        """Tell whether a part is to be cut, and may be: fewer than `ahead` lie here."""
        return bool(self._wanted(c)) and tasks.lying(c, self._recording_id, LOCAL) < ahead

    def _wanted(self, c: sqlite3.Connection) -> list[int]:
        return tasks.numbers(c, self._recording_id, "created")
