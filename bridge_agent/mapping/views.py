"""What is known of each library here, as the page shows it and as it is kept."""

import msgspec

from bridge_agent.protocol.bridge import Library, LibraryCheck, Message, Sparse


class Proposal(Message):
    """A folder in which the sample book's files were found: `matched` of `of`, with equal sizes."""

    path: str
    matched: int
    of: int


class Outcome(LibraryCheck):
    """A check as it is kept: what the heartbeat carries, with what helps a person to map the library."""

    deepest_existing: str | None = None
    hint: str | None = None
    proposals: list[Proposal] = msgspec.field(default_factory=list)

    def check(self) -> LibraryCheck:
        """Return the part that the heartbeat carries (R-036)."""
        return LibraryCheck(**{name: getattr(self, name) for name in LibraryCheck.__struct_fields__})


class LibraryView(Sparse):
    """A library as page and API show it; `checked_at` is null until a check of its present path ended."""

    library_id: int
    name: str
    root: str
    path: str
    mapped: bool
    ok: bool
    readable: bool
    writable: bool
    checked_at: str | None
    files_checked: int
    files_matched: int
    deepest_existing: str | None
    proposals: list[Proposal]
    sample_path: str | None = None
    error: str | None = None
    hint: str | None = None
    checking: bool = False


def view(library: Library, mapped: str | None, outcome: Outcome | None, checking: bool) -> LibraryView:
    """Put together what is known; an outcome for another path than the present one says nothing."""
    path = mapped or library.root
    if outcome is None or outcome.path != path:
        outcome = Outcome(
            library_id=library.id,
            path=path,
            ok=False,
            readable=False,
            writable=False,
            checked_at="",
            files_checked=0,
            files_matched=0,
        )
    return LibraryView(
        library_id=library.id,
        name=library.name,
        root=library.root,
        path=path,
        mapped=mapped is not None,
        ok=outcome.ok,
        readable=outcome.readable,
        writable=outcome.writable,
        checked_at=outcome.checked_at or None,
        files_checked=outcome.files_checked,
        files_matched=outcome.files_matched,
        deepest_existing=outcome.deepest_existing,
        proposals=outcome.proposals,
        sample_path=outcome.sample_path,
        error=outcome.error,
        hint=outcome.hint,
        checking=checking,
    )
