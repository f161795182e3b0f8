"""Libraries in plain words: whether this machine sees each, where, and what would mend it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge_agent.page.views_jobs import Tag
from bridge_agent.page.views_times import moment_of


@dataclass(frozen=True)
class Proposal:
    """A folder here that may be the library, and what speaks for it."""

    path: str
    evidence: str
    strong: bool


@dataclass(frozen=True)
class LibraryRow:
    """One library as a page shows it: the server's path, the path here, and how they fit."""

    id: int
    name: str
    root: str
    path: str
    mapped: bool
    tag: Tag
    sentence: str
    seen: bool
    checked: bool
    checked_at: datetime | None
    deepest: str
    same_path: bool
    proposals: tuple[Proposal, ...]
    hint: str = ""

    @property
    def best(self) -> Proposal | None:
        """The proposal that all sample files speak for, if there is one."""
        return next((p for p in self.proposals if p.strong), None)


def row(library: Mapping[str, Any]) -> LibraryRow:
    """Say how a library stands, from the API's form of it."""
    checked_at = moment_of(library["checked_at"] or None)
    seen = bool(library["ok"])
    name = str(library["name"] or f"Library {library['library_id']}")
    deepest = str(library["deepest_existing"] or "")
    path = str(library["path"] or "")
    return LibraryRow(
        id=int(library["library_id"]),
        name=name,
        root=str(library["root"]),
        path=path,
        mapped=bool(library["mapped"]),
        tag=_tag(library, checked_at),
        sentence=sentence(library),
        seen=seen,
        checked=checked_at is not None,
        checked_at=checked_at,
        deepest="" if seen or deepest == path else deepest,
        same_path=path == str(library["root"]),
        proposals=tuple(_proposal(p) for p in library["proposals"]),
        hint=str(library.get("hint") or ""),
    )


def _tag(library: Mapping[str, Any], checked_at: datetime | None) -> Tag:
    if library.get("checking"):
        return Tag("◔", "Checking")
    if checked_at is None:
        return Tag("○", "Not checked yet")
    if library["ok"]:
        return Tag("✓", "Seen", "ok")
    if library["readable"] and library["files_matched"]:
        return Tag("!", "Differs", "warn")
    return Tag("!", "Not seen", "warn")


def sentence(library: Mapping[str, Any]) -> str:
    """Say in one sentence what the last check found."""
    if not library["checked_at"]:
        return "The Bridge looks for it as soon as the server answers."
    checked, matched = int(library["files_checked"]), int(library["files_matched"])
    if library["ok"]:
        written = "can be written" if library["writable"] else "can only be read, which is enough to verify"
        if not checked:
            return f"The folder is here and {written}; the library has no book to compare yet."
        return f"{matched} of {checked} sample files match; the folder {written}."
    if library.get("error"):
        return str(library["error"])
    if not library["readable"]:
        return "Nothing can be read there. Say below where this machine sees the library."
    return f"Only {matched} of {checked} sample files match. Say below where this machine sees the library."


def _proposal(found: Mapping[str, Any]) -> Proposal:
    matched, of = int(found["matched"]), int(found["of"])
    files = "file matches" if of == 1 else "files match"
    return Proposal(str(found["path"]), f"{matched} of {of} {files}", bool(of) and matched == of)


def head(rows: list[LibraryRow]) -> tuple[str, str, str]:
    """Return the page's mark, its first sentence, and the line under it."""
    unseen = missing(rows)
    waiting = [library for library in rows if not library.checked]
    if not rows:
        return (
            "off",
            "The server has no library yet.",
            "Add one in its console; it shows up here by itself.",
        )
    if unseen:
        return (
            "warn",
            unseen,
            "Say where this machine finds the same files; nothing is ever written to check that.",
        )
    if waiting:
        return ("off", "The libraries are being looked for.", "This page follows by itself.")
    both = "The library is" if len(rows) == 1 else "All libraries are"
    return ("ok", f"{both} seen from here.", "Checked daily and whenever something changes.")


def missing(rows: list[LibraryRow]) -> str:
    """Name the libraries that were looked for and are not seen here; empty when all are."""
    names = [library.name for library in rows if library.checked and not library.seen]
    if not names:
        return ""
    return f"{_listed(names)} {'isn’t' if len(names) == 1 else 'aren’t'} seen here."


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    if len(names) > 3:
        return f"{len(names)} libraries"
    return ", ".join(names[:-1]) + " and " + names[-1]
