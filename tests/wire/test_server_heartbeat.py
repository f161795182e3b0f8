"""The heartbeat and the capability."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clock import FakeClock
from tests.wire.server_rig import Rig, serving

LIBRARY = {
    "library_id": 1,
    "path": "/books",
    "ok": True,
    "readable": True,
    "writable": False,
    "checked_at": "2026-01-01T00:00:00.000Z",
    "files_checked": 3,
    "files_matched": 3,
}


@pytest.mark.requirement("R-037")
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("kinds", {"kinds": ["verify"]}),
        ("kinds", {"kinds": ["Bridge.verify"]}),
        ("kinds", {"kinds": ["bridge.verify\n"]}),
        ("kinds", {"kinds": ["bridge.verify", "bridge.verify"]}),
        ("kinds", {"kinds": [f"a.k{number}" for number in range(65)]}),
        ("kinds", {"kinds": "bridge.verify"}),
        ("kinds", {"kinds": None}),
        ("libraries", {"libraries": [{**LIBRARY, "library_id": 0}]}),
        ("libraries", {"libraries": [LIBRARY, LIBRARY]}),
        ("libraries", {"libraries": [{"path": "/books"}]}),
        ("ui_url", {"ui_url": "nas.local:13380"}),
        ("ui_url", {"ui_url": "javascript:alert(1)"}),
        ("ui_url", {"ui_url": "//nas.local"}),
        ("ui_url", {"ui_url": ""}),
        ("ui_url", {"ui_url": "http://nas.local/ x"}),
    ],
)
async def test_a_wrong_structure_is_refused_by_name_and_the_last_heartbeat_stays(
    house: Rig, field: str, change: dict[str, Any]
):
    bridge = await house.pair()
    refused = (
        await bridge.beat(**{"version": "2.0", **change})
        if "kinds" not in change
        else await bridge.put("/bridge/status", {"version": "2.0", **change})
    )
    assert (refused.status, refused.code) == (400, "invalid_status")
    assert refused["error"]["field"] == field
    assert field in refused["error"]["message"]
    assert (await house.admin.get("/admin/bridge"))["status"]["version"] == "1.0"


@pytest.mark.requirement("R-038")
async def test_free_text_is_cleaned_and_cut_never_refused(house: Rig):
    bridge = await house.pair()
    answer = await bridge.beat(
        version="v\u00001\n" + "x" * 300,
        libraries=[
            {**LIBRARY, "path": "/b\u0007" + "ä" * 10_000, "error": "no\r\nway", "sample_path": "a\tb"}
        ],
        workers=[{"name": "w\u001b[31m" + "y" * 300, "state": "work\u0000ing", "engine": "e" * 500}],
    )
    assert answer.status == 200
    status = (await house.admin.get("/admin/bridge"))["status"]
    assert status["version"] == "v 1 " + "x" * 124
    library = status["libraries"][0]
    assert library["path"] == "/b " + "ä" * 510
    assert (library["error"], library["sample_path"]) == ("no  way", "a b")
    assert status["workers"][0]["name"] == ("w [31m" + "y" * 300)[:128]
    assert status["workers"][0]["state"] == "work ing"
    assert len(status["workers"][0]["engine"]) == 128


@pytest.mark.requirement("R-038")
@pytest.mark.parametrize("raw", [b'"/b\\udcff"', b'"/b\xff"', b'"/b\x01"'])
async def test_a_name_that_json_forbids_does_not_take_the_bridge_offline(house: Rig, raw: bytes):
    bridge = await house.pair()
    body = b'{"version": "1", "kinds": [], "libraries": [{"library_id": 1, "ok": false, "path": %s}]}' % raw
    headers = {"Content-Type": "application/json"}
    assert (await bridge.call("PUT", "/bridge/status", data=body, headers=headers)).status == 200
    path = (await house.admin.get("/admin/bridge"))["status"]["libraries"][0]["path"]
    assert path.startswith("/b")
    assert len(path) == 3


@pytest.mark.requirement("R-039", "R-040")
async def test_the_last_heartbeat_alone_is_kept_and_the_libraries_are_answered(house: Rig):
    bridge = await house.pair()
    first = await bridge.beat(version="1", libraries=[LIBRARY], ui_url="http://nas.local:13380")
    assert first.body == {"libraries": [{"id": 1, "name": "Books", "root": str(house.books)}]}
    await bridge.beat(version="2")
    status = (await house.admin.get("/admin/bridge"))["status"]
    assert (status["version"], status["libraries"], status["ui_url"]) == ("2", [], None)


@pytest.mark.requirement("R-041", "R-042")
async def test_online_is_a_heartbeat_under_two_minutes_old(house: Rig):
    bridge = await house.pair()
    await bridge.beat(version="7")
    await house.time.advance(119)
    server = (await house.nobody.get("/server")).body
    assert server["capabilities"] == {"bridge": True}
    assert server["bridge"] == {"version": "7", "features": ["bridge"]}
    assert (await house.admin.get("/admin/bridge"))["online"] is True
    await house.time.advance(2)
    server = (await house.nobody.get("/server")).body
    assert server["capabilities"] == {"bridge": False}
    assert "bridge" not in server
    view = (await house.admin.get("/admin/bridge")).body
    assert (view["online"], view["status"]["version"]) == (False, "7")


async def test_a_jump_of_the_wall_clock_leaves_the_bridge_online_as_it_is(house: Rig):
    await house.pair()
    for shift in (86_400, -86_400):
        house.time.set_wall(shift)
        assert (await house.admin.get("/admin/bridge"))["online"] is True
    house.time.set_wall(-86_400)
    await house.time.advance(121)
    assert (await house.admin.get("/admin/bridge"))["online"] is False


@pytest.mark.requirement("R-043")
@pytest.mark.parametrize(
    ("kinds", "features"),
    [
        (("bridge.verify", "foo.bar"), ["bridge"]),
        (("foo.bar",), []),
        ((), []),
        (("test.other", "bridge.verify"), ["bridge", "test"]),
    ],
)
async def test_features_are_the_families_of_known_kinds(
    house: Rig, kinds: tuple[str, ...], features: list[str]
):
    bridge = await house.pair()
    await bridge.beat(kinds)
    assert (await house.nobody.get("/server"))["bridge"]["features"] == features


@pytest.mark.requirement("R-044")
async def test_pairing_and_unpairing_drop_the_copy_at_once(house: Rig):
    bridge = await house.pair()
    assert (await house.nobody.get("/server"))["capabilities"]["bridge"] is True
    await house.admin.delete("/admin/bridge")
    assert (await house.nobody.get("/server"))["capabilities"]["bridge"] is False
    bridge = await house.pair()
    assert (await house.nobody.get("/server"))["capabilities"]["bridge"] is True
    await bridge.pair(await house.code())
    assert (await house.nobody.get("/server"))["capabilities"]["bridge"] is False


@pytest.mark.requirement("R-044")
async def test_a_new_heartbeat_is_seen_within_five_seconds(house: Rig):
    bridge = await house.pair()
    await house.nobody.get("/server")
    await bridge.beat(version="new")
    await house.time.advance(5)
    assert (await house.nobody.get("/server"))["bridge"]["version"] == "new"


@pytest.mark.requirement("R-031")
async def test_a_slow_heartbeat_whose_token_was_revoked_meanwhile_saves_nothing(house: Rig):
    bridge = await house.pair()
    await bridge.beat(version="good")
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly():
        begun.set()
        await go_on.wait()
        yield b'{"version": "late", "kinds": []}'

    headers = {"Content-Type": "application/json"}
    late = asyncio.ensure_future(bridge.call("PUT", "/bridge/status", data=slowly(), headers=headers))
    await begun.wait()
    await asyncio.sleep(0.05)
    await house.admin.delete("/admin/bridge")
    go_on.set()
    answer = await late
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert (await house.admin.get("/admin/bridge"))["status"] is None


async def test_what_is_known_of_the_bridge_outlives_a_restart(tmp_path: Path, clock: FakeClock):
    async with serving(tmp_path, clock) as house:
        bridge = await house.pair()
        await bridge.beat(version="3")
    await clock.advance(60)
    async with serving(tmp_path, clock) as house:
        assert (await house.nobody.get("/server"))["bridge"]["version"] == "3"
        await clock.advance(61)
        assert (await house.nobody.get("/server"))["capabilities"]["bridge"] is False
        assert (await house.again(bridge).beat()).status == 200


async def test_the_console_hears_when_the_window_of_the_last_heartbeat_ends(house: Rig):
    await house.pair()
    told = []
    house.home.bridge.on_change = lambda: told.append(1)
    await house.time.advance(121)
    assert told == [1]


async def test_two_bridges_with_one_token_are_told_apart_by_their_runs(house: Rig):
    bridge = await house.pair()
    beat = {"version": "1.0", "kinds": ["bridge.verify"], "libraries": [], "workers": [], "ui_url": None}

    async def heard(run: str) -> int:
        return (await bridge.put("/bridge/status", beat, headers={"X-Bridge-Run": run})).status

    assert [await heard(run) for run in ("first", "copy", "first", "copy", "first")] == [
        200,
        200,
        200,
        409,
        200,
    ]
    told = await bridge.put("/bridge/status", beat, headers={"X-Bridge-Run": "copy"})
    assert told.code == "copied"
    assert (await bridge.put("/bridge/status", beat)).status == 200
