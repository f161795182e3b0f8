"""Kept transcripts: put down, listed, found again by their reuse key, searched, removed."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import in_thread
from bridge_agent.store import Database, open_database
from bridge_agent.transcription.assembly.result import Artifact, Result, RunFacts, result
from bridge_agent.transcription.assembly.transcript import Transcript
from bridge_agent.transcription.formats import Document, documents, read_json
from bridge_agent.transcription.transcripts import rows
from bridge_agent.transcription.transcripts.fold import words
from bridge_agent.transcription.transcripts.folders import Folders
from bridge_agent.transcription.transcripts.kept import Kept, KeptFile, KeptPage, Record, entry
from bridge_agent.transcription.transcripts.query import parse
from bridge_agent.transcription.transcripts.search import MOST, Hits, search
from bridge_agent.transcription.transcripts.stretches import stretches

_NO_LIMIT = 1 << 62
_LIST_WORDS = 4


class TranscriptDamaged(BridgeError):
    """A file of this transcript is missing or was changed; transcribe the book again."""

    code = "transcript_damaged"


class Transcripts:
    """The transcripts of this machine, each a folder of files and a row that finds it."""

    def __init__(self, db: Database, folder: Path, clock: Clock, notes: Sequence[str] = ()) -> None:
        self.notes = list(notes)
        self._db = db
        self._folders = Folders(folder)
        self._clock = clock
        # Folders and rows change together, one transcript at a time.
        self._changing = asyncio.Lock()

    async def close(self) -> None:
        """Close the store."""
        await self._db.close()

    async def keep(
        self, transcript: Transcript, facts: RunFacts, reuse_key: str, server_id: str | None = None
    ) -> Kept:
        """Write a transcript's files, make it findable and return its entry; raises OSError, StoreFull.

        One of the same reuse key gives its place, and its id, to the new one.
        """
        made = await in_thread(documents, transcript)
        listed = tuple(_artifact(document) for document in made)
        record = Record(
            reuse_key=reuse_key,
            kept_at=to_text(self._clock.now()),
            server_id=server_id,
            facts=msgspec.structs.replace(facts, artifacts=listed),
        )
        async with self._changing:
            name = await in_thread(self._folders.write, made, record)
            try:
                return await self._put(name, transcript, record)
            except BridgeError:
                # Nobody was told of it, so nobody misses it; a full disk is none the fuller for it.
                await in_thread(self._folders.delete, name)
                raise

    async def find(self, reuse_key: str) -> Kept | None:
        """Return the transcript of these files and settings, if its files are all there unharmed."""
        row = await self._db.read(lambda c: rows.row(c, "of_key", reuse_key=reuse_key))
        if row is None:
            return None
        kept, folder = row
        return kept if await in_thread(self._folders.whole, folder, kept.artifacts) else None

    async def reused(self, kept: Kept, library_id: int, path: str) -> Result:
        """Return the result of a job done at once from a kept transcript; raises TranscriptDamaged."""
        facts = RunFacts(
            library_id=library_id,
            path=path,
            parts=kept.parts,
            device=kept.engine.device,
            seconds_spent=0.0,
            reused_parts=kept.parts,
            warnings=kept.warnings,
            artifacts=kept.artifacts,
        )
        transcript = await self.load(kept.id)
        if transcript is None:
            raise TranscriptDamaged
        return result(transcript, facts)

    async def list(self, q: str = "", before: int | None = None, limit: int = 50) -> KeptPage:
        """Return a page of transcripts, newest first, whose title, author or path holds all words of `q`."""
        limit = max(1, min(limit, MOST))
        wanted = [*sorted(set(words(q)), key=len, reverse=True)[:_LIST_WORDS], *[""] * _LIST_WORDS]
        given: dict[str, object] = {f"w{n}": wanted[n] for n in range(_LIST_WORDS)}
        given |= {"before": _NO_LIMIT if before is None else before, "limit": limit + 1}
        page = await self._db.read(lambda c: c.execute(rows.SQL["list"], given).fetchall())
        found = tuple(rows.kept(row) for row in page[:limit])
        return KeptPage(found, found[-1].id if len(page) > limit else None)

    async def get(self, transcript_id: int) -> Kept | None:
        """Return one transcript's entry."""
        row = await self._db.read(lambda c: rows.row(c, "get", id=transcript_id))
        return row[0] if row else None

    async def artifact(self, transcript_id: int, name: str) -> KeptFile | None:
        """Return where a transcript's file of that name lies; raises TranscriptDamaged where it is gone."""
        row = await self._db.read(lambda c: rows.row(c, "get", id=transcript_id))
        listed = next((a for a in row[0].artifacts if a.name == name), None) if row else None
        if row is None or listed is None:
            return None
        path = self._folders.root / row[1] / listed.name
        if await in_thread(_size, path) != listed.size_bytes:
            raise TranscriptDamaged
        return KeptFile(path, listed.name, listed.content_type, listed.sha256, listed.size_bytes)

    async def load(self, transcript_id: int) -> Transcript | None:
        """Read a transcript for a reader; raises TranscriptDamaged."""
        row = await self._db.read(lambda c: rows.row(c, "get", id=transcript_id))
        return await in_thread(self._load, row[1], row[0].artifacts) if row else None

    async def remove(self, transcript_id: int) -> bool:
        """Forget a transcript and delete its files; tell whether it was there."""
        async with self._changing:
            row = await self._db.read(lambda c: rows.row(c, "get", id=transcript_id))
            if row is None:
                return False
            # The folder first: `mend` drops a row without one, but brings a folder without a row back.
            aside = await in_thread(self._folders.put_away, row[1])
            await self._db.write(lambda c: rows.remove(c, transcript_id))
            if aside is not None:
                await in_thread(self._folders.delete, aside)
            return True

    async def search(self, q: str, after: str | None = None, limit: int = 20) -> Hits:
        """Return a page of hits across all books; any text is a valid query. Raises BadCursor."""
        query = parse(q)
        return await self._db.read(lambda c: search(c, query, after, limit))

    async def mend(self) -> int:
        """Bring folders and rows together again after a crash or a lost store; return how many changed.

        Run it beside everything else after the start: a folder that no row knows is read and indexed again.
        """
        async with self._changing:
            await in_thread(self._folders.tidy)
            known = await self._db.read(
                lambda c: {row["folder"]: int(row["id"]) for row in c.execute(rows.SQL["folders"])}
            )
            present = await in_thread(lambda: list(self._folders.names()))
            gone = [known[folder] for folder in known if folder not in present]
            for transcript_id in gone:
                await self._db.write(lambda c, i=transcript_id: rows.remove(c, i))  # type: ignore[misc]
        strange = [folder for folder in present if folder not in known]
        return len(gone) + sum([await self._adopt(folder) for folder in strange])

    async def _adopt(self, folder: str) -> bool:
        record = await in_thread(self._folders.record, folder)
        if record is None:
            self.notes.append(f"The folder {folder} among the transcripts can’t be read; look into it.")
            return False
        async with self._changing:
            row = await self._db.read(lambda c: rows.row(c, "of_key", reuse_key=record.reuse_key))
            if row is not None and row[1] == folder:
                return False
            if row is not None and row[0].kept_at >= record.kept_at:
                # It gave its place to a newer one, and the crash came before it was deleted.
                await in_thread(self._folders.delete, folder)
                return True
            try:
                transcript = await in_thread(self._load, folder, record.facts.artifacts)
            except TranscriptDamaged:
                self.notes.append(f"The transcript in {folder} is damaged; transcribe that book again.")
                return False
            await self._put(folder, transcript, record)
            return True

    async def _put(self, folder: str, transcript: Transcript, record: Record) -> Kept:
        made = entry(transcript, record)
        found = await in_thread(lambda: list(stretches(transcript)))
        old = await self._db.read(lambda c: rows.row(c, "of_key", reuse_key=record.reuse_key))
        titles = [chapter.title for chapter in transcript.chapters]
        kept = await self._db.write(lambda c: rows.put(c, folder, record.reuse_key, made, titles, found))
        if old is not None and old[1] != folder:
            await in_thread(self._folders.delete, old[1])
        return kept

    def _load(self, folder: str, artifacts: Sequence[Artifact]) -> Transcript:
        for artifact in artifacts:
            if artifact.name == "transcript.json" and (raw := self._folders.read(folder, artifact)):
                return read_json(raw)
        raise TranscriptDamaged


async def open_transcripts(data_dir: Path, clock: Clock) -> Transcripts:
    """Open the transcripts of a data folder, made if missing; `mend` is the caller's to start.

    Raises BridgeError as `store.open_database` does. The store of the search can be lost without harm: the
    files are the truth.
    """
    opened = await open_database(
        data_dir / "transcripts.sqlite3", "bridge_agent.transcription.transcripts.schema", "NORMAL", clock
    )
    folder = data_dir / "transcripts"
    return Transcripts(opened.database, folder, clock, opened.notes)


def _artifact(document: Document) -> Artifact:
    return Artifact(
        name=document.name,
        content_type=document.content_type,
        sha256=document.sha256,
        size_bytes=len(document.content),
    )


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
