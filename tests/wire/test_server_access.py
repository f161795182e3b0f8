"""Which credential opens which route, and what a bridge token is not."""

import re
import sqlite3
from pathlib import Path

import pytest
from aiohttp import web

from bridge_agent.home.access import declared
from tests.wire.server_rig import Rig

# /auth/login, /auth/redeem, /bridge/pair and /server are public.
FILL = {"id": "1", "name": "a.json", "library_id": "1", "path": "x", "tail": "x"}


def routes(house: Rig) -> list[tuple[str, str, object]]:
    """Return (method, path, handler) of every route of the application."""
    found = []
    for route in house.home.application.router.routes():
        resource = route.resource
        assert resource is not None
        path = re.sub(
            r"\{(\w+)(?::[^{}]*(?:\{[^{}]*\}[^{}]*)*)?\}", lambda m: FILL.get(m[1], "1"), resource.canonical
        )
        if isinstance(resource, web.StaticResource):
            continue
        found.append((route.method, path, route.handler))
    return found


def test_every_handler_declares_what_it_takes_and_the_table_is_whole(tmp_path: Path, clock):
    from bridge_agent.home.app import HomeServer
    from bridge_agent.settings import HomeSettings

    home = HomeServer(HomeSettings(data_dir=tmp_path), clock)
    for route in home.build_application().router.routes():
        if not isinstance(route.resource, web.StaticResource):
            assert declared(route.handler) is not None, route


@pytest.mark.requirement("R-027", "R-028")
async def test_a_bridge_token_opens_nothing_but_the_bridges_routes(house: Rig):
    bridge = await house.pair()
    tried = 0
    for method, path, handler in routes(house):
        access = declared(handler)
        assert access is not None, path
        if not access.kinds or "bridge" in access.kinds:
            continue
        tried += 1
        url = house.home.url + path
        headers = {"Authorization": f"Bearer {bridge.token}"}
        for options in ({"headers": headers}, {"params": {"token": bridge.token}}):
            async with house.http.request(method, url, allow_redirects=False, **options) as answer:
                if path.startswith("/api/"):
                    assert answer.status == 401, (method, path)
                else:
                    assert answer.status in (401, 303), (method, path)
                    assert "sign-in" in answer.headers.get("Location", "sign-in"), (method, path)
    assert tried > 25


@pytest.mark.requirement("R-028", "R-029", "R-033")
async def test_the_bridges_routes_take_no_other_credential_and_no_token_in_the_query(house: Rig):
    bridge = await house.pair()
    key = (await house.admin.post("/admin/api-keys", {"name": "k"}))["token"]
    cast = (await house.admin.post("/media/cast"))["token"]
    tried = set()
    for method, path, handler in routes(house):
        access = declared(handler)
        assert access is not None
        if "bridge" not in access.kinds:
            continue
        tried.add(path)
        url = house.home.url + path
        for token in (house.admin.token, key, cast, "brg_unknown", ""):
            async with house.http.request(
                method, url, headers={"Authorization": f"Bearer {token}"}
            ) as answer:
                assert answer.status == 401, (method, path)
                if method != "HEAD":
                    assert (await answer.json())["error"]["code"] == "unauthorized"
        for options in (
            {},
            {"params": {"token": bridge.token}},
            {"cookies": {"home_session": bridge.token}},
            {"cookies": {"home_session": house.admin.token}},
            {"headers": {"Authorization": f"Basic {bridge.token}"}},
        ):
            async with house.http.request(method, url, **options) as answer:
                assert answer.status == 401, (method, path, options)
    assert tried == {
        "/api/v1/bridge/status",
        "/api/v1/bridge/jobs/next",
        "/api/v1/bridge/jobs/1",
        "/api/v1/bridge/jobs/1/artifacts/a.json",
        "/api/v1/bridge/libraries/1/book",
    }


@pytest.mark.requirement("R-026")
async def test_tokens_are_kept_as_hashes_alone(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    key = (await house.admin.post("/admin/api-keys", {"name": "k"}))["token"]
    cast = (await house.admin.post("/media/cast"))["token"]
    tokens = [bridge.token, house.admin.token, key, cast]
    store = sqlite3.connect(tmp_path / "home" / "home.sqlite3")
    rows = dict(store.execute("SELECT kind, hash FROM tokens").fetchall())
    dump = "\n".join(store.iterdump())
    store.close()
    assert set(rows) == {"session", "api_key", "cast", "bridge"}
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in rows.values())
    for token in tokens:
        assert token is not None
        assert token not in dump
        assert token[4:] not in dump


@pytest.mark.requirement("R-030")
@pytest.mark.parametrize(
    ("off", "on"), [({"role": "user"}, {"role": "admin"}), ({"enabled": False}, {"enabled": True})]
)
async def test_a_bridge_token_works_only_while_its_admin_is_one(house: Rig, off, on):
    made = await house.admin.post("/admin/users", {"username": "second", "password": "pw", "role": "admin"})
    first, house.admin = house.admin, await house.sign_in("second", "pw")
    bridge = await house.pair()
    assert (await bridge.beat()).status == 200
    await first.patch(f"/admin/users/{made['id']}", off)
    for answer in (await bridge.beat(), await bridge.next(), await bridge.get("/bridge/libraries/1/book")):
        assert (answer.status, answer.code) == (401, "unauthorized")
    await first.patch(f"/admin/users/{made['id']}", on)
    assert (await bridge.beat()).status == 200


@pytest.mark.requirement("R-032")
async def test_a_bridge_token_is_no_device(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    before = (await house.admin.get("/auth/devices"))["devices"]
    assert {device["kind"] for device in before} == {"session"}
    await house.time.advance(60)
    for _ in range(3):
        await bridge.beat()
    store = sqlite3.connect(tmp_path / "home" / "home.sqlite3")
    assert store.execute("SELECT last_seen_at FROM tokens WHERE kind = 'bridge'").fetchall() == [(None,)]
    seen = store.execute("SELECT last_seen_at FROM tokens WHERE kind = 'session'").fetchall()
    store.close()
    assert seen == [(before[0]["last_seen_at"],)]
    assert (await house.admin.post("/auth/sign-out", {}))["signed_out"] == 1
    assert (await house.admin.get("/auth/devices")).status == 401
    assert (await bridge.beat()).status == 200


async def test_a_cookie_carries_sessions_alone_and_the_header_goes_before_it(house: Rig):
    key = (await house.admin.post("/admin/api-keys", {"name": "k"}))["token"]
    session = house.admin.token
    for cookie, header, expected in (
        (session, None, 200),
        (key, None, 401),
        (session, "Bearer nonsense", 401),
        ("nonsense", f"Bearer {session}", 200),
    ):
        headers = {} if header is None else {"Authorization": header}
        answer = await house.nobody.get("/admin/bridge", headers=headers, cookies={"home_session": cookie})
        assert answer.status == expected


async def test_an_api_key_administers_but_mints_nothing(house: Rig):
    key = house.caller((await house.admin.post("/admin/api-keys", {"name": "k"}))["token"])
    assert (await key.get("/admin/bridge")).status == 200
    assert (await key.get("/admin/bridge/jobs")).status == 200
    for method, path in (
        ("POST", "/admin/bridge/pair"),
        ("POST", "/admin/api-keys"),
        ("POST", "/admin/users"),
        ("POST", "/auth/device-code"),
        ("POST", "/media/cast"),
    ):
        assert (await key.call(method, path, {})).status == 401, path


async def test_forms_texts_and_other_sites_are_refused(house: Rig):
    form = await house.admin.call("POST", "/admin/libraries", data={"name": "x", "root": "/"})
    assert (form.status, form.code) == (415, "unsupported_type")
    text = await house.admin.call(
        "DELETE", "/admin/bridge", data=b"x", headers={"Content-Type": "text/plain"}
    )
    assert text.status == 415
    for headers in ({"Sec-Fetch-Site": "same-site"}, {"Origin": "http://evil.example"}):
        answer = await house.admin.post("/admin/bridge/pair", headers=headers)
        assert (answer.status, answer.code) == (403, "cross_site")
    own = {"Origin": house.home.url, "Sec-Fetch-Site": "same-origin"}
    assert (await house.admin.post("/admin/bridge/pair", headers=own)).status == 201


async def test_what_is_not_there_is_a_404_in_the_one_shape(house: Rig):
    assert (await house.nobody.get("/nowhere")).code == "not_found"
    assert (await house.admin.call("PUT", "/server")).code == "method_not_allowed"
    assert (await house.admin.get("/admin/bridge/jobs/77")).code == "not_found"
    assert (await house.admin.get("/admin/bridge/jobs/zero")).code == "not_found"


async def test_a_token_in_an_address_reaches_no_log_line(house: Rig, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    bridge = await house.pair()
    await house.nobody.get("/media/1/x", params={"token": bridge.token or ""})
    assert bridge.token not in caplog.text
