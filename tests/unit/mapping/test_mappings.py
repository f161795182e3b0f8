"""Mappings are set, checked, told and kept, and follow the server's list."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.link.errors import Rejected, ServerAway
from bridge_agent.link.listeners import LinkListener
from bridge_agent.mapping.mappings import Mappings, NotListed, PathRefused, given_path
from bridge_agent.mapping.proposals import Search
from bridge_agent.mapping.views import Proposal
from bridge_agent.protocol.bridge import Book, Library, LibraryCheck, encode
from bridge_agent.settings import BridgeSettings
from bridge_agent.store.database import InlineDatabase, open_inline
from tests.fakes.clock import FakeClock, settle
from tests.unit.mapping.trees import listed, names_in, plant, tree_hash
from tests.unit.verify.rig import HurriedClock

BOOK = {"A/B/1.mp3": 10, "A/B/2.mp3": 20}
LIBRARY = Library(id=1, name="Books", root="/srv/nowhere/books")


class FakeLink:
    """A link with one server that lists what a test says."""

    def __init__(self) -> None:
        self.listeners: list[LinkListener] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self.server_id: str | None = "one"
        self.libraries = [LIBRARY]
        self.online = True
        self.beats = 0
        self.asked: list[tuple[int, str | None]] = []
        self.answer: Book | BridgeError = Book(
            library_id=1, path="A/B", title="B", author="A", files=listed(BOOK), chapters=[]
        )

    async def beaten(self) -> bool:
        return False

    def beat_now(self) -> None:
        self.beats += 1

    async def book(self, library_id: int, path: str | None) -> Book:
        self.asked.append((library_id, path))
        await asyncio.sleep(0)
        if isinstance(self.answer, BridgeError):
            raise self.answer
        return self.answer


class House:
    """Mappings around a fake link, which can be started anew over the same file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock: FakeClock = HurriedClock()
        self.link = FakeLink()
        self.tasks = Tasks("test")
        self.db: InlineDatabase = open_inline(folder / "bridge.sqlite3", "bridge_agent.store.bridge_schema")
        self.mappings = self.fresh()

    def fresh(self) -> Mappings:
        self.link.listeners.clear()
        settings = BridgeSettings(data_dir=self.folder)
        search = Search(lambda: [], self.folder / "home")
        return Mappings(settings, self.clock, self.db, self.link, self.tasks, search)

    async def again(self) -> Mappings:
        self.mappings = self.fresh()
        await self.mappings.start()
        return self.mappings

    async def quiet(self) -> None:
        while len(self.tasks):
            await asyncio.sleep(0.001)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    folder = tmp_path / "data"
    folder.mkdir()
    house = House(folder)
    await house.mappings.start()
    yield house
    await house.tasks.cancel()
    await house.db.close()


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Hold a library with the sample book, away from where the server names it."""
    root = tmp_path / "media" / "books"
    plant(root, BOOK)
    return root


# ---- where a library is ------------------------------------------------------------------------------


@pytest.mark.requirement("R-100")
async def test_without_a_mapping_the_servers_root_counts_and_with_one_the_mapping(
    house: House, library: Path
) -> None:
    assert await house.mappings.place_of(1) == (LIBRARY, Path("/srv/nowhere/books"))
    await house.mappings.set(1, str(library))
    assert await house.mappings.place_of(1) == (LIBRARY, library)
    await house.mappings.clear(1)
    assert await house.mappings.place_of(1) == (LIBRARY, Path("/srv/nowhere/books"))


@pytest.mark.requirement("R-100")
async def test_a_library_that_is_not_listed_is_refused_everywhere(house: House) -> None:
    for call in (
        house.mappings.place_of(2),
        house.mappings.set(2, "/x"),
        house.mappings.clear(2),
        house.mappings.check(2),
    ):
        with pytest.raises(NotListed, match="has listed no such library"):
            await call


async def test_nothing_is_listed_while_unpaired(house: House) -> None:
    house.link.server_id, house.link.libraries = None, []
    assert house.mappings.views() == []
    with pytest.raises(NotListed):
        await house.mappings.place_of(1)


@pytest.mark.parametrize(
    "path", ["books", "./books", "", "  ", "smb://nas/books", "/a\0b", "~nobody-here/books"]
)
async def test_what_is_no_full_path_is_refused_with_a_sentence(house: House, path: str) -> None:
    with pytest.raises(PathRefused) as refused:
        await house.mappings.set(1, path)
    assert refused.value.message.endswith(".")
    assert house.mappings.views()[0].mapped is False


def test_paths_are_taken_as_people_copy_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert given_path('  "/mnt/Audio Books/" ') == "/mnt/Audio Books"
    assert given_path("~/Audiobooks") == "/home/me/Audiobooks"
    assert given_path("/mnt/it's") == "/mnt/it's"


async def test_a_mapping_outlives_a_restart_and_stays_with_its_server(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    await house.mappings.check(1)
    mappings = await house.again()
    assert (await mappings.place_of(1))[1] == library
    assert mappings.views()[0].ok is True
    house.link.server_id = "two"
    assert mappings.views()[0].mapped is False
    assert mappings.checks() == []
    assert (await mappings.place_of(1))[1] == Path("/srv/nowhere/books")
    house.link.server_id = "one"
    assert (await mappings.place_of(1))[1] == library


# ---- the check ----------------------------------------------------------------------------------------


@pytest.mark.requirement("R-035", "R-036")
async def test_a_good_check_is_told_kept_and_beaten_at_once(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    before = tree_hash(library)
    view = await house.mappings.check(1)
    assert (view.ok, view.readable, view.writable) == (True, True, True)
    assert (view.files_matched, view.files_checked, view.sample_path) == (2, 2, "A/B")
    assert (view.deepest_existing, view.proposals, view.error) == (str(library), [], None)
    assert (view.root, view.path, view.mapped) == ("/srv/nowhere/books", str(library), True)
    assert house.link.asked == [(1, None)]
    assert house.link.beats == 1
    (check,) = house.mappings.checks()
    assert type(check) is LibraryCheck
    assert encode(check) == encode(
        LibraryCheck(
            library_id=1,
            path=str(library),
            ok=True,
            readable=True,
            writable=True,
            checked_at="2026-01-01T00:00:00.000Z",
            files_checked=2,
            files_matched=2,
            sample_path="A/B",
        )
    )
    assert tree_hash(library) == before


async def test_a_job_that_saw_something_else_makes_a_new_check(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    await house.mappings.check(1)
    house.mappings.heard(1, True)
    await house.quiet()
    assert len(house.link.asked) == 1
    away = library.rename(library.with_name("away"))
    house.mappings.heard(1, False)
    house.mappings.heard(1, False)
    await house.quiet()
    assert (house.mappings.views()[0].ok, len(house.link.asked)) == (False, 2)
    away.rename(library)
    house.mappings.heard(1, True)
    await house.quiet()
    assert house.mappings.views()[0].ok


async def test_before_any_check_a_library_is_told_as_not_checked(house: House) -> None:
    (view,) = house.mappings.views()
    assert (view.checked_at, view.ok, view.checking) == (None, False, False)
    assert house.mappings.checks() == []


async def test_a_library_that_is_elsewhere_is_proposed_with_its_evidence(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library.parent / "boks"))
    view = await house.mappings.check(1)
    assert view.ok is False
    assert view.deepest_existing == str(library.parent)
    assert view.hint == f"Did you mean {library}?"
    assert view.proposals == [Proposal(path=str(library), matched=2, of=2)]
    assert view.error is not None
    assert view.error.startswith("This machine does not see the library now: there is no folder ")
    assert (view.files_checked, view.files_matched) == (0, 0)


async def test_an_empty_root_is_a_library_not_seen_and_no_missing_files(house: House, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    await house.mappings.set(1, str(tmp_path / "empty"))
    view = await house.mappings.check(1)
    assert view.error is not None
    assert view.error.startswith("This machine does not see the library now: ")
    assert (view.files_checked, view.files_matched) == (0, 0)


async def test_a_folder_that_is_not_the_library_says_what_does_not_match(
    house: House, tmp_path: Path
) -> None:
    plant(tmp_path / "other", {"A/B/1.mp3": 10, "A/B/2.mp3": 21})
    await house.mappings.set(1, str(tmp_path / "other"))
    view = await house.mappings.check(1)
    assert (view.ok, view.files_checked, view.files_matched) == (False, 2, 1)
    assert view.error is not None
    assert "A/B/2.mp3 does not (size differs: 21 bytes here, 20 on the server)" in view.error


async def test_a_share_that_goes_away_during_a_check_is_a_library_not_seen(
    house: House, library: Path
) -> None:
    for path in BOOK:
        os.truncate(library / path, 1)
    await house.mappings.set(1, str(library))
    clock = house.clock
    assert isinstance(clock, HurriedClock)
    clock.at_sleep = lambda seconds: library.rename(library.with_name("unplugged")) and None
    view = await house.mappings.check(1)
    assert (view.error or "").startswith("This machine does not see the library now: ")
    assert (view.files_checked, view.files_matched) == (0, 0)


async def test_a_library_without_books_is_seen_when_its_folder_is(house: House, library: Path) -> None:
    house.link.answer = Rejected(404, "not_found", "No book.")
    await house.mappings.set(1, str(library))
    view = await house.mappings.check(1)
    assert (view.ok, view.files_checked, view.sample_path, view.error) == (True, 0, None, None)


async def test_an_unreadable_root_is_told_though_its_files_match(
    house: House, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.X_OK)
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path) == str(library):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    await house.mappings.set(1, str(library))
    view = await house.mappings.check(1)
    assert (view.ok, view.readable, view.files_matched) == (False, False, 2)
    assert "can’t be listed by the user this program runs as" in (view.error or "")


@pytest.mark.requirement("R-035")
async def test_a_failed_check_is_beaten_too(house: House) -> None:
    await house.mappings.check(1)
    assert house.link.beats == 1
    assert house.mappings.checks()[0].ok is False


async def test_two_who_ask_share_one_check(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    first, second = await asyncio.gather(house.mappings.check(1), house.mappings.check(1))
    assert first == second
    assert len(house.link.asked) == 1


async def test_a_check_goes_on_when_the_one_who_asked_has_gone(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    asking = house.tasks.spawn(house.mappings.check(1), "asking")
    await settle(3)
    asking.cancel()
    assert house.mappings.views()[0].checking is True
    await house.quiet()
    assert house.mappings.views()[0].ok is True
    assert house.link.beats == 1


async def test_a_check_of_a_path_that_was_changed_meanwhile_says_nothing_of_the_new_one(
    house: House, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back, real = threading.Event(), os.scandir

    def scandir(path: Any) -> Any:
        if str(path) == str(tmp_path / "slow"):
            back.wait(10)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    await house.mappings.set(1, str(tmp_path / "slow"))
    slow = house.tasks.spawn(house.mappings.check(1), "slow")
    await settle()
    await house.mappings.set(1, str(library))
    assert (await house.mappings.check(1)).ok is True
    back.set()
    assert (await slow).ok is False
    assert house.mappings.views()[0].ok is True
    assert (await house.again()).views()[0].ok is True


async def test_whoever_shows_them_hears_of_every_change(house: House, library: Path) -> None:
    seen: list[tuple[bool, bool]] = []

    def note() -> None:
        view = house.mappings.views()[0]
        seen.append((view.checking, view.ok))

    house.mappings.on_change = note
    await house.mappings.set(1, str(library))
    await house.mappings.check(1)
    assert seen == [(False, False), (True, False), (False, True)]


# ---- the server goes, comes, lists other libraries -------------------------------------------------------


@pytest.mark.requirement("R-040")
async def test_what_vanishes_from_the_servers_list_vanishes_here_and_comes_back_mapped(
    house: House, library: Path
) -> None:
    house.link.libraries = [LIBRARY, Library(id=2, name="Kids", root="/srv/kids")]
    await house.mappings.set(1, str(library))
    await house.mappings.check(1)
    assert [view.library_id for view in house.mappings.views()] == [1, 2]
    house.link.libraries = [Library(id=2, name="Kids", root="/srv/kids")]
    assert [view.library_id for view in house.mappings.views()] == [2]
    assert house.mappings.checks() == []
    with pytest.raises(NotListed):
        await house.mappings.place_of(1)
    house.link.libraries = [LIBRARY]
    assert house.mappings.views()[0].path == str(library)


async def test_all_are_checked_by_themselves_once_the_link_works(house: House) -> None:
    house.link.libraries = [LIBRARY, Library(id=2, name="Kids", root="/srv/nowhere/kids")]
    house.mappings.link_ready("one")
    await house.quiet()
    assert [asked[0] for asked in house.link.asked] == [1, 2]
    assert len(house.mappings.checks()) == 2
    for _ in range(3):
        house.mappings.link_changed()
        await house.quiet()
    assert len(house.link.asked) == 2


@pytest.mark.requirement("R-040")
async def test_a_library_that_appears_is_checked_by_itself(house: House) -> None:
    house.mappings.link_ready("one")
    await house.quiet()
    house.link.libraries = [LIBRARY, Library(id=2, name="Kids", root="/srv/nowhere/kids")]
    house.mappings.link_changed()
    await house.quiet()
    assert [asked[0] for asked in house.link.asked] == [1, 2]


async def test_a_fresh_check_is_not_repeated_at_a_start_and_an_old_one_is(house: House) -> None:
    await house.mappings.check(1)
    mappings = await house.again()
    mappings.link_ready("one")
    await house.quiet()
    assert len(house.link.asked) == 1
    await house.clock.advance(25 * 3600)
    mappings = await house.again()
    mappings.link_ready("one")
    await house.quiet()
    assert len(house.link.asked) == 2


async def test_a_check_that_the_server_left_unfinished_is_ended_when_it_comes_back(
    house: House, library: Path
) -> None:
    await house.mappings.set(1, str(library))
    book, house.link.answer = house.link.answer, ServerAway("The server can’t be reached just now.")
    house.link.online = False
    house.mappings.link_changed()
    view = await house.mappings.check(1)
    assert view.error == (
        f"The folder {library} is here, but the server gave no files to compare it with: "
        "The server can’t be reached just now."
    )
    house.link.answer, house.link.online = book, True
    house.mappings.link_changed()
    await house.quiet()
    assert house.mappings.views()[0].ok is True


async def test_an_unfinished_check_never_replaces_a_finished_one(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    await house.mappings.check(1)
    house.link.answer = ServerAway()
    assert (await house.mappings.check(1)).ok is False
    assert house.mappings.views()[0].ok is True


async def test_a_dead_server_is_not_asked_again_and_again(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    house.link.answer = ServerAway("The server answered 500.")
    house.mappings.link_ready("one")
    await house.quiet()
    for _ in range(5):
        house.mappings.link_changed()
        await house.quiet()
    assert len(house.link.asked) == 1


async def test_the_daily_round_checks_all_and_survives_one_that_goes(house: House) -> None:
    house.link.libraries = [LIBRARY, Library(id=2, name="Kids", root="/srv/nowhere/kids")]
    await house.mappings.check_all()
    await house.mappings.check_all()
    assert [asked[0] for asked in house.link.asked] == [1, 2, 1, 2]


async def test_a_share_that_drops_is_seen_by_the_next_round(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    await house.mappings.check_all()
    assert house.mappings.checks()[0].ok is True
    library.rename(library.with_name("unplugged"))
    await house.mappings.check_all()
    assert house.mappings.checks()[0].ok is False


async def test_nothing_is_written_into_a_library_by_any_check(house: House, library: Path) -> None:
    await house.mappings.set(1, str(library))
    before = library.stat().st_mtime_ns
    await house.mappings.check(1)
    assert library.stat().st_mtime_ns == before
    assert names_in(library) == ["A"]
