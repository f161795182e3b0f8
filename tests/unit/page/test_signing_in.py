"""The page's password, sessions and the command line's token."""

import hashlib
import re

import pytest

from bridge_agent.base import logs
from bridge_agent.page.password import PagePassword, first_password
from bridge_agent.page.sessions import LIFE_S
from tests.unit.page.conftest import MakePage, Page

PASSWORD = "correct horse"


async def stored(page: Page, query: str) -> list[tuple[object, ...]]:
    db = page.house.parts.db
    assert db is not None
    return await db.read(lambda c: [tuple(row) for row in c.execute(query).fetchall()])


def csrf_in(text: str) -> str:
    return text.partition('name="csrf" value="')[2].partition('"')[0]


async def sign_in(page: Page, password: str = PASSWORD) -> int:
    return (await page.client.post("/api/login", json={"password": password})).status


async def test_the_right_password_gives_the_instances_own_cookie(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    answer = await page.client.post("/api/login", json={"password": PASSWORD})
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("bridge_test1=ses_")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie
    assert f"Max-Age={int(LIFE_S)}" in cookie
    assert (await page.client.get("/api/status")).status == 200


async def test_the_cookie_is_secure_behind_https(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    headers = {"X-Forwarded-Proto": "https"}
    answer = await page.client.post("/api/login", json={"password": PASSWORD}, headers=headers)
    assert "Secure" in answer.headers["Set-Cookie"]


async def test_only_the_hash_of_a_session_is_stored(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    answer = await page.client.post("/api/login", json={"password": PASSWORD})
    secret = answer.cookies["bridge_test1"].value
    rows = await stored(page, "SELECT hash FROM page_sessions")
    assert rows == [(hashlib.sha256(secret.encode()).hexdigest(),)]


async def test_a_wrong_password_is_refused_and_limited_by_address(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    assert [await sign_in(page, "wrong") for _ in range(10)] == [401] * 10
    answer = await page.client.post("/api/login", json={"password": PASSWORD})
    assert answer.status == 429
    assert int(answer.headers["Retry-After"]) > 0
    await page.clock.advance(901)
    assert await sign_in(page) == 200


async def test_a_success_clears_the_count(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    for _ in range(3):
        assert [await sign_in(page, "wrong") for _ in range(9)] == [401] * 9
        assert await sign_in(page) == 200


async def test_a_session_slides_for_thirty_days_and_then_ends(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    await sign_in(page)
    for days in (1, 2, 3):
        page.clock.set_wall(days * (LIFE_S - 60))
        answer = await page.client.get("/api/status")
        assert answer.status == 200
        assert "bridge_test1=ses_" in answer.headers["Set-Cookie"]
    page.clock.set_wall(4 * LIFE_S + 1)
    assert (await page.client.get("/api/status")).status == 401


async def test_a_sessions_use_is_written_at_most_once_an_hour(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    await sign_in(page)
    before = await stored(page, "SELECT last_seen_at FROM page_sessions")
    page.clock.set_wall(3000)
    answer = await page.client.get("/api/status")
    assert "Set-Cookie" not in answer.headers
    assert await stored(page, "SELECT last_seen_at FROM page_sessions") == before


async def test_the_form_signs_in_and_leads_to_the_wanted_page(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    answer = await page.client.get("/jobs")
    text = await answer.text()
    assert answer.url.path == "/login"
    assert "Sign in to the Bridge." in text
    form = {"csrf": csrf_in(text), "password": "wrong", "next": "/jobs"}
    refused = await page.client.post("/login", data=form)
    assert refused.status == 401
    assert "That is not the page’s password" in await refused.text()
    answer = await page.client.post("/login", data={**form, "password": PASSWORD})
    assert (answer.status, answer.url.path) == (200, "/jobs")


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/login", ""],
)
async def test_a_sign_in_leads_nowhere_else(make_page: MakePage, wanted: str):
    page = await make_page(page_password=PASSWORD)
    text = await (await page.client.get("/login", params={"next": wanted})).text()
    form = {"csrf": csrf_in(text), "password": PASSWORD, "next": wanted}
    answer = await page.client.post("/login", data=form, allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (303, "./")


async def test_signing_out_ends_the_session(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    await sign_in(page)
    text = await (await page.client.get("/")).text()
    await page.client.post("/logout", data={"csrf": csrf_in(text)})
    assert (await page.client.get("/api/status")).status == 401
    assert await stored(page, "SELECT hash FROM page_sessions") == []


async def test_signing_in_where_no_password_is_set_says_so(served: Page):
    answer = await served.client.post("/api/login", json={"password": "x"})
    assert answer.status == 409
    assert "bridge-agent password" in (await answer.json())["error"]["message"]


# ---- the command line


async def test_the_control_token_opens_everything_and_no_other_does(make_page: MakePage):
    page = await make_page(page_password=PASSWORD)
    good = {"Authorization": f"Bearer {page.token}"}
    assert (await page.client.get("/api/status", headers=good)).status == 200
    for wrong in ("", "Bearer ", "Bearer x", f"Basic {page.token}", f"Bearer {page.token}x"):
        answer = await page.client.get("/api/status", headers={"Authorization": wrong})
        assert answer.status == 401, wrong
    assert (await page.client.get(f"/api/status?token={page.token}")).status == 401


async def test_only_the_command_line_sets_the_password_by_the_api(served: Page):
    refused = await served.client.put("/api/password", json={"password": "a new one"})
    assert refused.status == 403
    headers = {"Authorization": f"Bearer {served.token}"}
    answer = await served.client.put("/api/password", json={"password": "a new one"}, headers=headers)
    assert answer.status == 200
    assert (await served.client.get("/api/status")).status == 401
    assert await sign_in(served, "a new one") == 200


async def test_a_password_that_is_too_short_or_set_by_the_settings_is_refused(
    served: Page, make_page: MakePage
):
    headers = {"Authorization": f"Bearer {served.token}"}
    answer = await served.client.put("/api/password", json={"password": "short"}, headers=headers)
    assert (answer.status, (await answer.json())["error"]["code"]) == (400, "weak_password")
    fixed = await make_page(page_password=PASSWORD)
    headers = {"Authorization": f"Bearer {fixed.token}"}
    answer = await fixed.client.put("/api/password", json={"password": "a new one"}, headers=headers)
    assert (answer.status, (await answer.json())["error"]["code"]) == (400, "set_by_settings")


# ---- the first password


async def test_a_bridge_beyond_loopback_prints_a_password_once_and_logs_it_never(
    make_page: MakePage, caplog: pytest.LogCaptureFixture
):
    page = await make_page(listen="0.0.0.0:0")
    assert len(page.printed) == 1
    found = re.search(r"[a-z2-9]{4}(-[a-z2-9]{4}){3}", page.printed[0])
    assert found is not None
    assert found[0] not in caplog.text
    assert logs.masks.hide(f"it is {found[0]}") == "it is …"
    assert await sign_in(page, found[0]) == 200
    hashes = await stored(page, "SELECT value FROM meta WHERE name = 'page_password'")
    assert str(hashes[0][0]).startswith("scrypt$")
    parts = page.house.parts
    assert parts.db is not None
    assert await first_password(parts.settings, parts.db) is None


async def test_none_is_made_on_loopback_or_where_the_settings_give_one(make_page: MakePage):
    assert (await make_page()).printed == []
    assert (await make_page(listen="0.0.0.0:0", page_password=PASSWORD)).printed == []


# ---- the form in Settings


async def form_of(page: Page, **fields: str) -> dict[str, str]:
    return {"csrf": csrf_in(await (await page.client.get("/settings")).text()), **fields}


async def test_a_password_is_set_changed_and_removed_in_settings(served: Page):
    answer = await served.client.post("/settings/password", data=await form_of(served, new="first one"))
    assert answer.status == 200
    assert "The password is set." in await answer.text()
    wrong = await form_of(served, old="not it", new="second one")
    answer = await served.client.post("/settings/password", data=wrong)
    assert answer.status == 400
    assert "That is not the page’s password" in await answer.text()
    right = await form_of(served, old="first one", new="second one")
    assert (await served.client.post("/settings/password", data=right)).status == 200
    served.client.session.cookie_jar.clear()
    assert await sign_in(served, "first one") == 401
    assert await sign_in(served, "second one") == 200
    gone = await form_of(served, old="second one")
    answer = await served.client.post("/settings/password/remove", data=gone)
    assert "The password is gone." in await answer.text()
    served.client.session.cookie_jar.clear()
    assert (await served.client.get("/api/status")).status == 200


async def test_setting_a_password_signs_other_browsers_out(served: Page):
    parts = served.house.parts
    assert parts.db is not None
    await PagePassword(parts.settings, parts.db).keep("first one")
    await sign_in(served, "first one")
    other = served.client.session.cookie_jar.filter_cookies(served.client.make_url("/"))["bridge_test1"].value
    change = await form_of(served, old="first one", new="second one")
    await served.client.post("/settings/password", data=change)
    assert (await served.client.get("/api/status")).status == 200
    served.client.session.cookie_jar.clear()
    answer = await served.client.get("/api/status", headers={"Cookie": f"bridge_test1={other}"})
    assert answer.status == 401


async def test_a_page_that_others_reach_keeps_its_password(make_page: MakePage):
    page = await make_page(listen="0.0.0.0:0")
    password = str(re.search(r"[a-z2-9]{4}(-[a-z2-9]{4}){3}", page.printed[0])[0])  # type: ignore[index]
    await sign_in(page, password)
    answer = await page.client.post("/settings/password/remove", data=await form_of(page, old=password))
    assert answer.status == 400
    assert "needs a password" in await answer.text()
    assert (await page.client.get("/api/status")).status == 200
