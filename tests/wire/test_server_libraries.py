"""Libraries as admins add, scan and remove them, and the jobs that belong to their books."""

import shutil
from pathlib import Path

import pytest

from bridge_agent.settings import NamedFolder
from tests.fakes.clock import FakeClock
from tests.wire.server_rig import Rig, lay_out_books, serving


@pytest.mark.requirement("R-049")
async def test_a_job_follows_its_moved_book(house: Rig):
    bridge = await house.pair()
    done = await house.queued(2)
    await bridge.report(await bridge.claim(), "done")
    open_one = await house.queued(2)
    (house.books / "Book 2").rename(house.books / "Renamed")
    assert (await house.admin.post(f"/admin/libraries/{house.library_id}/scan")).status == 202
    await house.home.library.settled()
    for job_id in (done, open_one):
        assert (await house.job(job_id))["path"] == "Renamed"
    assert (await bridge.claim())["path"] == "Renamed"


@pytest.mark.requirement("R-049")
async def test_a_queued_job_whose_new_place_is_taken_ends_and_the_other_goes_on(house: Rig):
    await house.pair()
    left, taken = await house.queued(1), await house.queued(2)
    for _ in range(2):
        await house.home.jobs.book_moved(house.library_id, "Book 1", "Book 2")
    assert (await house.job(left))["state"] == "cancelled"
    assert "moved" in (await house.job(left))["error"]
    assert (await house.job(taken))["state"] == "queued"


@pytest.mark.requirement("R-049")
async def test_jobs_and_artifacts_go_with_their_library_and_stay_over_a_scan(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    job_id = await house.queued()
    job = await bridge.claim()
    await bridge.put_artifact(job, "a.json", b"{}")
    await house.admin.post(f"/admin/libraries/{house.library_id}/scan")
    await house.home.library.settled()
    assert (await house.job(job_id))["state"] == "claimed"
    assert (await house.admin.delete(f"/admin/libraries/{house.library_id}")).status == 204
    assert (await house.admin.get(f"/admin/bridge/jobs/{job_id}")).status == 404
    assert (await bridge.report(job, "running")).code == "not_held"
    assert not list((tmp_path / "home" / "artifacts").rglob("a.json"))
    assert (house.books / "Book 1" / "all.wav").exists()
    assert (await house.admin.delete("/admin/libraries/1")).code == "not_found"


async def test_a_library_is_added_scanned_and_told_to_the_bridge(house: Rig, tmp_path: Path):
    lay_out_books(tmp_path / "more", 2)
    made = await house.admin.post("/admin/libraries", {"name": "More", "root": str(tmp_path / "more")})
    assert made.status == 201
    assert (made["id"], made["name"], made["root"]) == (2, "More", str(tmp_path / "more"))
    await house.home.library.settled()
    listed = (await house.admin.get("/libraries"))["libraries"]
    assert [(entry["name"], entry["books"], entry["scan"]["state"]) for entry in listed] == [
        ("Books", 6, "done"),
        ("More", 2, "done"),
    ]
    bridge = await house.pair()
    assert [entry["name"] for entry in (await bridge.beat())["libraries"]] == ["Books", "More"]


@pytest.mark.parametrize(
    "body", [{}, {"name": "x"}, {"name": " ", "root": "/"}, {"name": "x", "root": "books"}]
)
async def test_a_library_without_name_or_absolute_root_is_refused(house: Rig, body: dict[str, str]):
    assert (await house.admin.post("/admin/libraries", body)).status == 400


async def test_scanning_an_unknown_library_is_not_found(house: Rig):
    assert (await house.admin.post("/admin/libraries/99/scan")).code == "not_found"


async def test_the_bridge_asks_for_a_books_files(house: Rig):
    bridge = await house.pair()
    book = await bridge.get(f"/bridge/libraries/{house.library_id}/book", params={"path": "Book 3"})
    assert book.status == 200
    assert set(book.body) == {"library_id", "path", "title", "author", "files", "chapters"}
    [file] = book["files"]
    assert file["path"] == "Book 3/all.wav"
    assert file["size"] == (house.books / "Book 3" / "all.wav").stat().st_size
    sample = await bridge.get(f"/bridge/libraries/{house.library_id}/book")
    assert sample["path"] == "Book 1"
    for path, query in (
        (f"/bridge/libraries/{house.library_id}/book", {"path": "No"}),
        ("/bridge/libraries/9/book", {}),
    ):
        assert (await bridge.get(path, params=query)).code == "not_found"


async def test_libraries_of_the_settings_are_added_once_and_not_after_they_were_removed(
    tmp_path: Path, clock: FakeClock
):
    async with serving(tmp_path, clock) as house:
        assert (await house.admin.delete(f"/admin/libraries/{house.library_id}")).status == 204
    lay_out_books(tmp_path / "more", 1)
    both = (NamedFolder("Books", tmp_path / "books"), NamedFolder("More", tmp_path / "more"))
    async with serving(tmp_path, clock, libraries=both) as house:
        names = [entry["name"] for entry in (await house.admin.get("/libraries"))["libraries"]]
        assert names == ["More"]


async def test_jobs_of_a_library_that_is_gone_are_cleared_at_the_start(tmp_path: Path, clock: FakeClock):
    async with serving(tmp_path, clock) as house:
        await house.pair()
        job_id = await house.queued()
        # The library's own file forgot it; the process died before the jobs were deleted.
        await house.home.library.remove(house.library_id)
    async with serving(tmp_path, clock) as house:
        assert (await house.admin.get(f"/admin/bridge/jobs/{job_id}")).status == 404
    shutil.rmtree(tmp_path / "books")
