"""Signing in and out, accounts, API keys, device codes."""

import asyncio

import pytest

from tests.wire.server_rig import PASSWORD, Rig


async def test_login_gives_the_session_as_token_and_as_cookie(house: Rig):
    answer = await house.nobody.post("/auth/login", {"username": "admin", "password": PASSWORD})
    assert answer.status == 200
    assert answer["user"] == {"id": 1, "username": "admin", "role": "admin", "enabled": True}
    assert answer["token"].startswith("ses_")
    cookie = answer.headers["Set-Cookie"]
    assert f"home_session={answer['token']}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie


async def test_a_browsers_cookie_slides_with_its_session_when_a_page_is_opened(house: Rig):
    cookies = {"home_session": house.admin.token}
    opened = {"Sec-Fetch-Mode": "navigate"}
    async with house.http.get(f"{house.home.url}/jobs", cookies=cookies, headers=opened) as page:
        assert page.status == 200
        assert f"home_session={house.admin.token}" in page.headers["Set-Cookie"]
    async with house.http.get(f"{house.home.url}/jobs", cookies=cookies) as fetched:
        assert "Set-Cookie" not in fetched.headers


@pytest.mark.parametrize(
    "body",
    [
        {"username": "admin", "password": "wrong"},
        {"username": "nobody", "password": PASSWORD},
        {"username": "admin", "password": ""},
    ],
)
async def test_a_wrong_name_or_password_is_one_refusal(house: Rig, body: dict[str, str]):
    answer = await house.nobody.post("/auth/login", body)
    assert (answer.status, answer.code) == (401, "bad_credentials")


@pytest.mark.requirement("R-009")
async def test_ten_wrong_passwords_pause_the_address_however_many_come_at_once(house: Rig):
    wrong = {"username": "admin", "password": "wrong"}
    answers = await asyncio.gather(*(house.nobody.post("/auth/login", wrong) for _ in range(14)))
    assert sorted(answer.status for answer in answers) == [401] * 10 + [429] * 4
    right = await house.nobody.post("/auth/login", {"username": "admin", "password": PASSWORD})
    assert (right.status, right.code) == (429, "rate_limited")
    assert int(right.headers["Retry-After"]) == 900
    await house.time.advance(901)
    assert (await house.sign_in()).token


async def test_a_session_slides_thirty_days(house: Rig):
    for _ in range(3):
        await house.time.advance(29 * 86_400)
        assert (await house.admin.get("/auth/devices")).status == 200
        await house.written()
    await house.time.advance(30 * 86_400 + 1)
    assert (await house.admin.get("/auth/devices")).status == 401


async def test_devices_are_the_accounts_sessions_and_keys(house: Rig):
    await house.admin.post("/admin/api-keys", {"name": "script"})
    await house.sign_in()
    devices = (await house.admin.get("/auth/devices"))["devices"]
    assert [(d["kind"], d["this"]) for d in devices] == [
        ("session", True),
        ("api_key", False),
        ("session", False),
    ]
    assert set(devices[0]) == {"id", "kind", "name", "created_at", "last_seen_at", "this"}


async def test_signing_out_elsewhere_keeps_this_session_and_logout_ends_it(house: Rig):
    other = await house.sign_in()
    assert (await house.admin.post("/auth/sign-out", {"except_this": True})).body == {"signed_out": 1}
    assert (await other.get("/auth/devices")).status == 401
    assert (await house.admin.post("/auth/logout")).status == 204
    assert (await house.admin.get("/auth/devices")).status == 401


async def test_a_device_code_signs_in_once(house: Rig):
    made = await house.admin.post("/auth/device-code")
    assert made.status == 201
    assert set(made.body) == {"code", "expires_at"}
    redeemed = await house.nobody.post("/auth/redeem", {"code": made["code"].lower(), "name": "Phone"})
    assert redeemed.status == 200
    assert redeemed["user"]["username"] == "admin"
    assert (await house.nobody.post("/auth/redeem", {"code": made["code"]})).code == "invalid_code"
    devices = (await house.caller(redeemed["token"]).get("/auth/devices"))["devices"]
    assert [d["name"] for d in devices if d["this"]] == ["Phone"]


async def test_a_device_code_ends_after_fifteen_minutes(house: Rig):
    made = await house.admin.post("/auth/device-code")
    await house.time.advance(901)
    assert (await house.nobody.post("/auth/redeem", {"code": made["code"]})).status == 401


async def test_accounts_are_made_changed_and_listed(house: Rig):
    made = await house.admin.post("/admin/users", {"username": "Ann", "password": "pw", "role": "user"})
    assert (made.status, made.body) == (201, {"id": 2, "username": "Ann", "role": "user", "enabled": True})
    again = await house.admin.post("/admin/users", {"username": "ann", "password": "pw", "role": "user"})
    assert (again.status, again.code) == (409, "username_taken")
    changed = await house.admin.patch("/admin/users/2", {"enabled": False})
    assert changed["enabled"] is False
    users = (await house.admin.get("/admin/users"))["users"]
    assert [user["username"] for user in users] == ["admin", "Ann"]
    assert (await house.nobody.post("/auth/login", {"username": "Ann", "password": "pw"})).status == 401
    assert (await house.admin.patch("/admin/users/9", {"enabled": True})).status == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"username": "", "password": "x"},
        {"username": "x", "password": ""},
        {"username": "x", "password": "y", "role": "king"},
    ],
)
async def test_an_account_of_a_wrong_form_is_refused(house: Rig, body: dict[str, str]):
    assert (await house.admin.post("/admin/users", body)).status == 400


@pytest.mark.parametrize("change", [{"enabled": False}, {"role": "user"}])
async def test_the_last_admin_stays(house: Rig, change: dict[str, object]):
    refused = await house.admin.patch("/admin/users/1", change)
    assert (refused.status, refused.code) == (409, "last_admin")
    await house.admin.post("/admin/users", {"username": "b", "password": "pw", "role": "admin"})
    assert (await house.admin.patch("/admin/users/1", change)).status == 200


async def test_a_disabled_admin_does_not_count_as_one_who_is_left(house: Rig):
    made = await house.admin.post("/admin/users", {"username": "b", "password": "pw", "role": "admin"})
    await house.admin.patch(f"/admin/users/{made['id']}", {"enabled": False})
    assert (await house.admin.patch("/admin/users/1", {"role": "user"})).code == "last_admin"


async def test_a_new_password_ends_the_accounts_other_sessions(house: Rig):
    other = await house.sign_in()
    assert (await house.admin.patch("/admin/users/1", {"password": "another"})).status == 200
    assert (await house.admin.get("/auth/devices")).status == 200
    assert (await other.get("/auth/devices")).status == 401
    assert (await house.sign_in("admin", "another")).token


async def test_an_ordinary_account_administers_nothing(house: Rig):
    await house.admin.post("/admin/users", {"username": "ann", "password": "pw", "role": "user"})
    ann = await house.sign_in("ann", "pw")
    for path in ("/admin/users", "/admin/api-keys", "/admin/bridge", "/admin/bridge/jobs"):
        answer = await ann.get(path)
        assert (answer.status, answer.code) == (403, "forbidden")


async def test_api_keys_are_shown_once_and_end_when_deleted(house: Rig):
    made = await house.admin.post("/admin/api-keys", {"name": "backup"})
    assert made.status == 201
    assert set(made.body) == {"id", "name", "token"}
    key = house.caller(made["token"])
    assert (await key.get("/admin/bridge")).status == 200
    await house.written()
    listed = (await house.admin.get("/admin/api-keys"))["api_keys"]
    assert [set(entry) for entry in listed] == [{"id", "name", "created_at", "last_used_at"}]
    assert listed[0]["last_used_at"] == "2026-01-01T00:00:00.000Z"
    assert (await house.admin.delete(f"/admin/api-keys/{made['id']}")).status == 204
    assert (await key.get("/admin/bridge")).status == 401
    assert (await house.admin.delete(f"/admin/api-keys/{made['id']}")).status == 404
