"""The plan of a batch: which row each book found is, what moved, what was lost; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from bridge_agent.home.library.assembly import Assembled
from bridge_agent.home.library.facts import File
from bridge_agent.home.library.matching import Known, Pool, Track

# A book that plays so long again has only been cut or encoded anew, whatever its files are called.
_AS_LONG = 0.98


@dataclass(frozen=True)
class Put:
    """A book to be written: into row `id`, or a new one; `lost` are tracks that it lacks now."""

    book: Assembled
    id: int | None
    state: str
    digest: str
    lost: tuple[str, ...] = ()


@dataclass
class Plan:
    """What a batch writes; `moves` are (old path, new path) as the jobs follow them, in order."""

    puts: list[Put] = field(default_factory=list)
    moved: list[Put] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)
    # Files of the shelves that belong to no book.
    free: list[str] = field(default_factory=list)
    # Files that are gone and nothing lacks.
    forgotten: list[str] = field(default_factory=list)


class Planner:
    """Plans one batch: `rows` are the known books on its shelves, `pool` those whose place is not known."""

    def __init__(self, rows: Sequence[Known], pool: Pool, there: "set[str] | frozenset[str]") -> None:
        """Prepare; `there` holds the paths of all files that are on the disk now."""
        self._rows = {row.id: row for row in rows}
        self._by_path = {row.path: row for row in rows}
        self._by_key: dict[str, list[Known]] = {}
        for row in rows:
            self._by_key.setdefault(row.path_key, []).append(row)
        self._pool = pool
        self._there = there
        self._plan = Plan()
        self._settled: dict[str, Known | None] = {}

    def plan(self, found: Sequence[Assembled], files: Iterable[File], gone: Iterable[str]) -> Plan:
        """Plan for the books found on the shelves, all files there, and the paths that are gone from them."""
        self._settle(found)
        for book in found:
            row = self._settled.get(book.path)
            self._put(book, row)
        self._leftovers(found)
        self._plan.moves = in_order_of_jobs(self._plan.moves)
        used = {file.path for book in found for file, _, _ in book.roles}
        self._plan.free = [file.path for file in files if file.path not in used]
        lost = {path for put in self._plan.puts for path in put.lost}
        self._plan.forgotten += [path for path in gone if path not in lost and not self._pool.needs(path)]
        return self._plan

    def _settle(self, found: Sequence[Assembled]) -> None:
        """Find each book's row: same place and content, same content, same place, or alike elsewhere."""
        own = self._own_rows(found)
        same = {
            book.path: row for book in found if (row := own.get(book.path)) and row.evidence == book.evidence
        }
        self._settled.update(same)
        sure = {row.id for row in same.values()}
        for row in self._rows.values():
            if row.id in sure:
                self._pool.take(row.id)
            else:
                self._pool.add(row)
        for book in found:
            if book.path not in self._settled and (row := self._pool.same(book)):
                self._settled[book.path] = row
        for book in found:
            at_place = own.get(book.path)
            if book.path not in self._settled and at_place is not None and at_place.id in self._pool:
                self._pool.take(at_place.id)
                self._settled[book.path] = at_place
        for book in found:
            if book.path not in self._settled:
                self._settled[book.path] = self._pool.alike(book)

    def _own_rows(self, found: Sequence[Assembled]) -> dict[str, Known]:
        """Return the row at each book's path, else the one at its path in another Unicode form (A-108)."""
        paths = {book.path for book in found}
        own: dict[str, Known] = {}
        for book in found:
            if row := self._by_path.get(book.path):
                own[book.path] = row
                continue
            twins = [row for row in self._by_key.get(book.path_key, ()) if row.path not in paths]
            if twins:
                own[book.path] = twins[0]
        return own

    def _put(self, book: Assembled, row: Known | None) -> None:
        lost = self._lost(book, row) if row else []
        if lost:
            book = _with_notes(book, lost)
        state = "whole" if book.whole else "incomplete"
        gone = tuple(track.path for track in lost)
        put = Put(book, row.id if row else None, state, book.digest(state), gone)
        if row is not None:
            old = (track.path for track in row.tracks if track.path not in self._there)
            self._plan.forgotten += [path for path in old if path not in gone]
        if row is not None and row.path != book.path:
            self._plan.moved.append(put)
            self._plan.moves.append((row.path, book.path))
        self._plan.puts.append(put)

    def _lost(self, book: Assembled, row: Known) -> list[Track]:
        """Return the tracks that the book lacks now: not renamed, not encoded anew, not all replaced."""
        if row.path != book.path:
            return []
        paths = {file.path for file, _, _ in book.roles}
        gone = [track for track in row.tracks if track.path not in paths and track.path not in self._there]
        if not gone:
            return []
        now = {(file.size, file.said.sound) for file in book.tracks}
        before = {(t.size, t.sound) for t in row.tracks if t.path in paths}
        if not before or (row.state == "missing" and not before & now):
            return []
        fresh = now - before
        gone = [track for track in gone if (track.size, track.sound) not in fresh]
        had = sum(track.duration or 0.0 for track in row.tracks)
        if had and (book.duration or 0.0) >= _AS_LONG * had:
            return []
        return gone

    def _leftovers(self, found: Sequence[Assembled]) -> None:
        """Decide about rows of the shelves that no book found is: their files may be another book's now."""
        holders = {file.path: book.path for book in found for file, _, _ in book.roles}
        for row in self._rows.values():
            if row.id not in self._pool:
                continue
            holder = next((holders[t.path] for t in row.tracks if t.path in holders), None)
            taken = row.path in self._settled
            if holder is None and not taken:
                continue
            self._pool.take(row.id)
            self._plan.deleted.append(row.id)
            if holder is not None and holder != row.path:
                self._plan.moves.append((row.path, holder))


def _with_notes(book: Assembled, lost: Sequence[Track]) -> Assembled:
    names = [track.path.rpartition("/")[2] for track in lost[:20]]
    notes = [*book.details.notes, *(f"“{name}” was there at an earlier scan and is gone." for name in names)]
    return replace(book, whole=False, details=msgspec.structs.replace(book.details, notes=notes))


def in_order_of_jobs(moves: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Order moves so that one by one does what all at once would: chains and swaps go by way of a stop."""
    olds = {old for old, _ in moves}
    if not any(new in olds for _, new in moves):
        return list(moves)
    stops = {old: f".moving/{number}" for number, (old, _) in enumerate(moves)}
    return [(old, stops[old]) for old, _ in moves] + [(stops[old], new) for old, new in moves]
