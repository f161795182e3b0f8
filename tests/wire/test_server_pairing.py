"""Pairing, seen from outside the server."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from bridge_agent.protocol import codes
from tests.fakes.bridge import FakeBridge
from tests.fakes.clock import FakeClock
from tests.wire.server_rig import Rig, serving


@pytest.mark.requirement("R-001")
async def test_only_an_admins_session_makes_a_code(house: Rig):
    key = await house.admin.post("/admin/api-keys", {"name": "script"})
    await house.admin.post("/admin/users", {"username": "reader", "password": "pw", "role": "user"})
    reader = await house.sign_in("reader", "pw")
    bridge = await house.pair()
    made = await house.admin.post("/admin/bridge/pair")
    assert made.status == 201
    assert set(made.body) == {"code", "expires_at", "server_url", "env"}
    assert (await house.caller(key["token"]).post("/admin/bridge/pair")).status == 401
    assert (await reader.post("/admin/bridge/pair")).status == 403
    assert (await bridge.post("/admin/bridge/pair")).status == 401
    assert (await house.nobody.post("/admin/bridge/pair")).status == 401


@pytest.mark.requirement("R-002", "R-004")
async def test_a_code_is_shown_once_and_kept_as_a_hash(house: Rig, tmp_path: Path):
    code = await house.code()
    bare = codes.normal(code)
    assert bare is not None
    for path in ("/admin/bridge", "/admin/bridge/jobs", "/admin/users", "/auth/devices", "/server"):
        raw = (await house.admin.get(path)).raw.decode()
        assert code not in raw
        assert bare not in raw
    store = sqlite3.connect(tmp_path / "home" / "home.sqlite3")
    dump = "\n".join(store.iterdump())
    assert code not in dump
    assert bare not in dump
    assert store.execute("SELECT count(*) FROM bridge_status").fetchone() == (1,)
    store.close()


@pytest.mark.requirement("R-003", "R-008")
async def test_a_code_lives_fifteen_minutes(house: Rig):
    early, late = await house.code(), None
    await house.time.advance(14 * 60 + 59)
    assert (await FakeBridge(house.http, house.home.url).pair(early)).status == 200
    late = await house.code()
    await house.time.advance(15 * 60 + 1)
    refused = await FakeBridge(house.http, house.home.url).pair(late)
    assert (refused.status, refused.code) == (401, "invalid_code")


async def test_a_jump_of_the_wall_clock_neither_ends_a_code_nor_keeps_it(house: Rig):
    code = await house.code()
    house.time.set_wall(86_400)
    assert (await FakeBridge(house.http, house.home.url).pair(code)).status == 200
    code = await house.code()
    house.time.set_wall(-86_400)
    await house.time.advance(901)
    assert (await FakeBridge(house.http, house.home.url).pair(code)).status == 401


@pytest.mark.parametrize("typed", ["{0}", "{1}", " {2} ", "{3}"])
async def test_a_code_is_taken_in_any_spelling(house: Rig, typed: str):
    code = await house.code()
    bare = code.replace("-", "")
    spelled = typed.format(code, bare.lower(), " ".join(bare), f"{bare[:2]}-{bare[2:]}")
    assert (await FakeBridge(house.http, house.home.url).pair(spelled)).status == 200


@pytest.mark.requirement("R-005")
async def test_a_new_code_replaces_the_one_that_waited(house: Rig):
    first, second = await house.code(), await house.code()
    bridge = FakeBridge(house.http, house.home.url)
    assert (await bridge.pair(first)).status == 401
    assert (await bridge.pair(second)).status == 200


@pytest.mark.requirement("R-006", "R-011", "R-010")
async def test_a_paired_bridge_works_on_until_another_one_exchanges_the_code(house: Rig):
    old = await house.pair()
    code = await house.code()
    assert (await old.beat(version="old")).status == 200
    new = FakeBridge(house.http, house.home.url)
    assert (await new.pair(code)).status == 200
    assert (await old.beat()).status == 401
    view = (await house.admin.get("/admin/bridge")).body
    assert view["status"] is None
    assert view["paired"] is True
    assert view["last_heartbeat_at"] is None
    assert (await house.nobody.get("/server"))["capabilities"] == {"bridge": False}
    assert (await new.next()).code == "no_heartbeat"


@pytest.mark.requirement("R-010")
@pytest.mark.parametrize("change", [{"role": "user"}, {"enabled": False}])
async def test_a_code_is_worth_nothing_once_its_admin_is_none(house: Rig, change: dict[str, object]):
    made = await house.admin.post("/admin/users", {"username": "second", "password": "pw", "role": "admin"})
    second = await house.sign_in("second", "pw")
    code = (await second.post("/admin/bridge/pair"))["code"]
    assert (await house.admin.patch(f"/admin/users/{made['id']}", change)).status == 200
    bridge = FakeBridge(house.http, house.home.url)
    assert (await bridge.pair(code)).code == "invalid_code"
    assert (await house.admin.get("/admin/bridge"))["paired"] is False


@pytest.mark.requirement("R-010")
async def test_one_code_exchanged_twice_at_once_gives_one_token(house: Rig):
    code = await house.code()
    bridges = [FakeBridge(house.http, house.home.url) for _ in range(5)]
    answers = await asyncio.gather(*(bridge.pair(code) for bridge in bridges))
    assert sorted(answer.status for answer in answers) == [200, 401, 401, 401, 401]


@pytest.mark.requirement("R-009")
async def test_failures_are_counted_by_address_with_those_of_device_codes(tmp_path: Path, clock: FakeClock):
    async with serving(tmp_path, clock, trusted_proxies=("127.0.0.1",)) as house:
        stranger = {"X-Forwarded-For": "203.0.113.7"}
        for _ in range(9):
            wrong = await house.nobody.post("/auth/redeem", {"code": "AAAA-AAAA"}, headers=stranger)
            assert (wrong.status, wrong.code) == (401, "invalid_code")
        tenth = await house.nobody.post("/bridge/pair", {"code": "AAAA-AAAA"}, headers=stranger)
        assert tenth.status == 401
        code = await house.code()
        for path in ("/bridge/pair", "/auth/redeem"):
            limited = await house.nobody.post(path, {"code": code}, headers=stranger)
            assert (limited.status, limited.code) == (429, "rate_limited")
            assert 1 <= int(limited.headers["Retry-After"]) <= 900
        other = await house.nobody.post(
            "/bridge/pair", {"code": code}, headers={"X-Forwarded-For": "203.0.113.8"}
        )
        assert other.status == 200
        await clock.advance(901)
        again = await house.nobody.post("/bridge/pair", {"code": code}, headers=stranger)
        assert again.status == 401


async def test_a_success_clears_the_count(house: Rig):
    for _ in range(9):
        await house.nobody.post("/bridge/pair", {"code": "AAAA-AAAA"})
    await house.pair()
    for _ in range(9):
        assert (await house.nobody.post("/bridge/pair", {"code": "AAAA-AAAA"})).status == 401


@pytest.mark.requirement("R-007")
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"address": "http://nas.local:13390", "public_url": "https://books.example"},
            "http://nas.local:13390",
        ),
        ({"address": "https://nas.local", "tls": "self-signed"}, "http://nas.local:443"),
        ({"public_url": "https://books.example/home"}, "https://books.example/home"),
    ],
)
async def test_the_bridge_is_given_the_address_at_home_else_the_public_one(
    tmp_path: Path, clock: FakeClock, settings: dict[str, str], expected: str
):
    async with serving(tmp_path, clock, books=0, **settings) as house:
        made = await house.admin.post("/admin/bridge/pair")
        assert made["server_url"] == expected
        assert made["env"] == {"BRIDGE_SERVER_URL": expected, "BRIDGE_PAIR_CODE": made["code"]}


@pytest.mark.requirement("R-007")
async def test_without_either_it_is_given_the_requests_own_address(house: Rig):
    assert (await house.admin.post("/admin/bridge/pair"))["server_url"] == house.home.url


@pytest.mark.requirement("R-007", "R-021")
async def test_a_self_signed_server_answers_plain_http_on_its_port_and_gives_that_address(
    tmp_path: Path, clock: FakeClock
):
    async with serving(tmp_path, clock, books=0, tls="self-signed") as house:
        assert house.home.url.startswith("https://")
        plain = house.home.url.replace("https://", "http://")
        async with house.http.get(f"{plain}/api/v1/server") as answer:
            assert answer.status == 200
        assert (await house.admin.post("/admin/bridge/pair"))["server_url"] == plain
        certificate = (tmp_path / "home" / "tls" / "certificate.pem").read_bytes()
    async with serving(tmp_path, clock, books=0, tls="self-signed"):
        assert (tmp_path / "home" / "tls" / "certificate.pem").read_bytes() == certificate


@pytest.mark.requirement("R-024")
async def test_unpairing_revokes_the_token_and_keeps_the_jobs(house: Rig):
    bridge = await house.pair()
    job = await house.queued()
    assert (await bridge.beat()).status == 200
    assert (await house.admin.delete("/admin/bridge")).status == 204
    assert (await bridge.beat()).status == 401
    view = (await house.admin.get("/admin/bridge")).body
    assert view == {
        "paired": False,
        "paired_at": None,
        "paired_by": None,
        "online": False,
        "last_heartbeat_at": None,
        "pending_code_expires_at": None,
        "status": None,
    }
    assert (await house.job(job))["state"] == "queued"


async def test_the_view_tells_who_paired_and_which_code_waits(house: Rig):
    assert (await house.admin.get("/admin/bridge"))["pending_code_expires_at"] is None
    made = await house.admin.post("/admin/bridge/pair")
    view = (await house.admin.get("/admin/bridge")).body
    assert view["pending_code_expires_at"] == made["expires_at"]
    await FakeBridge(house.http, house.home.url).pair(made["code"])
    view = (await house.admin.get("/admin/bridge")).body
    assert (view["paired"], view["paired_by"], view["pending_code_expires_at"]) == (True, "admin", None)
    assert view["paired_at"] == "2026-01-01T00:00:00.000Z"


async def test_the_servers_id_stays_and_the_pair_answer_names_it(tmp_path: Path, clock: FakeClock):
    ids = []
    for _ in range(2):
        async with serving(tmp_path, clock) as house:
            answer = await FakeBridge(house.http, house.home.url).pair(await house.code(), version="9")
            assert answer["server"]["name"] == "Home"
            assert answer["libraries"] == [{"id": 1, "name": "Books", "root": str(house.books)}]
            ids.append(answer["server"]["id"])
    assert ids[0] == ids[1]


async def test_a_code_that_waits_outlives_a_restart(tmp_path: Path, clock: FakeClock):
    async with serving(tmp_path, clock) as house:
        code = await house.code()
    await clock.advance(600)
    async with serving(tmp_path, clock) as house:
        assert (await FakeBridge(house.http, house.home.url).pair(code)).status == 200
        code = await house.code()
    await clock.advance(901)
    async with serving(tmp_path, clock) as house:
        assert (await FakeBridge(house.http, house.home.url).pair(code)).status == 401
