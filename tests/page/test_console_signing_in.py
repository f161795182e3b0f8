"""Signing in and out by the pages, and what a page asks of the one who opens it."""

import re

import pytest
from yarl import URL

from tests.page.console_rig import PASSWORD, Browser

PAGES = ["/libraries", "/libraries/1", "/jobs", "/settings/bridge", "/settings/people", "/settings/account"]
ADMIN_PAGES = [
    "/jobs",
    "/jobs/1",
    "/settings/bridge",
    "/settings/people",
    "/settings/keys",
    "/libraries/1/remove",
]


@pytest.fixture
async def browser(home):
    one = Browser(home)
    yield one
    await one.close()


async def test_a_stranger_is_led_to_the_sign_in_page_and_back(browser):
    for path in PAGES:
        asked = await browser.get(path, follow=False)
        assert asked.status == 303, path
        page = await browser.get(path)
        assert page.url.startswith("/sign-in?next="), path
    fields = {"username": "admin", "password": PASSWORD, "next": PAGES[-1]}
    there = await browser.send("/sign-in", fields, page=page)
    assert (there.status, there.url) == (200, PAGES[-1])


async def test_before_the_first_sign_in_the_page_says_where_the_password_is(browser):
    assert "BRIDGE_HOME_ADMIN_PASSWORD" in (await browser.get("/sign-in")).text
    await browser.sign_in()
    await browser.send("/sign-out")
    assert "BRIDGE_HOME_ADMIN_PASSWORD" not in (await browser.get("/sign-in")).text


async def test_a_wrong_password_is_worded_and_the_name_kept(browser):
    page = await browser.sign_in(password="wrong")
    assert page.status == 401
    assert "Name or password is not right" in page.text
    assert 'value="admin"' in page.html
    assert "wrong" not in page.html


async def test_too_many_wrong_passwords_are_worded_with_retry_after(browser):
    for _ in range(10):
        await browser.sign_in(password="wrong")
    page = await browser.sign_in()
    assert page.status == 429
    assert "Too many wrong tries" in page.text
    assert int(page.headers["Retry-After"]) > 0


async def test_a_sign_in_never_leads_to_another_site(browser):
    for next in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1"):
        page = await browser.get("/sign-in")
        fields = {"username": "admin", "password": PASSWORD, "next": next}
        sent = await browser.send("/sign-in", fields, page=page, follow=False)
        assert (sent.status, sent.headers["Location"]) == (303, "./"), next
        browser.session.cookie_jar.clear()


async def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(browser):
    page = await browser.get("/sign-in")
    fields = {"username": "admin", "password": PASSWORD, "next": "/"}
    sent = await browser.send("/sign-in", fields, page=page, follow=False)
    cookie = next(c for c in sent.headers.getall("Set-Cookie") if c.startswith("home_session="))
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie


async def test_signing_out_ends_the_session(browser, home):
    await browser.sign_in()
    held = browser.session.cookie_jar.filter_cookies(URL(home.url))["home_session"].value
    page = await browser.send("/sign-out")
    assert "You are signed out." in page.text
    browser.session.cookie_jar.update_cookies({"home_session": held})
    assert (await browser.get("/libraries", follow=False)).status == 303


async def test_a_form_without_its_token_is_refused(browser, home):
    await browser.sign_in()
    for token in ("", "0" * 64):
        page = await browser.send("/libraries", {"name": "X", "root": "/"}, token=token)
        assert page.status == 403
        assert "too old" in page.text
    assert len(home.library.libraries()) == 1


async def test_a_form_token_of_another_session_is_refused(browser, home):
    await browser.sign_in()
    other = Browser(home)
    await other.sign_in()
    foreign = (await other.get("/libraries")).form_token()
    await other.close()
    assert (await browser.send("/settings/bridge/unpair", token=foreign)).status == 403


async def test_the_sign_in_form_has_a_token_too(browser):
    fields = {"username": "admin", "password": PASSWORD, "next": "/"}
    assert (await browser.send("/sign-in", fields, token="")).status == 403


async def test_a_form_from_another_site_is_refused_with_a_page(browser, home):
    await browser.sign_in()
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "same-site"}):
        page = await browser.send("/libraries/1/remove", headers=headers)
        assert page.status == 403
        assert "another site" in page.text
        assert page.headers["Content-Type"].startswith("text/html")
    assert home.library.get(1) is not None


async def test_a_user_sees_libraries_and_own_account_only(browser, home):
    await home.users.create("maria", "her-password", "user")
    page = await browser.sign_in("maria", "her-password")
    assert page.url == "/libraries"
    assert "Fables" in page.text
    assert "Verify" not in page.text
    assert "Settings" not in page.text
    assert (await browser.get("/libraries/1")).status == 200
    assert "maria" in (await browser.get("/settings/account")).text
    for path in ADMIN_PAGES:
        refused = await browser.get(path)
        assert refused.status == 403, path
        assert "not open to you" in refused.text


async def test_what_a_user_sends_to_an_admins_address_changes_nothing(browser, home):
    await home.users.create("maria", "her-password", "user")
    await browser.sign_in("maria", "her-password")
    token = (await browser.get("/libraries")).form_token()
    for path in ("/libraries", "/libraries/1/remove", "/libraries/1/verify", "/settings/bridge/code"):
        assert (await browser.send(path, {"name": "X", "root": "/"}, token=token)).status == 403
    assert [library.name for library in home.library.libraries()] == ["Fables"]


async def test_a_missing_page_says_so_in_the_same_voice(browser):
    await browser.sign_in()
    for path in ("/nowhere", "/libraries/99", "/libraries/x", "/jobs/12345", "/libraries/1/book"):
        page = await browser.get(path)
        assert page.status == 404, path
        assert "There is nothing here." in page.text
        assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")


async def test_no_page_has_inline_styles_or_scripts(browser, home):
    pages = [await browser.get("/sign-in")]
    await browser.sign_in()
    pages += [await browser.get(path) for path in (*PAGES, "/settings/keys", "/nowhere")]
    for page in pages:
        assert not re.search(r"\sstyle=|<style|\son[a-z]+=|<script(?![^>]*\ssrc=)", page.html), page.url


async def test_signing_in_by_a_code_from_another_device(browser, home):
    await browser.sign_in()
    made = await browser.send("/settings/account/device-code")
    code = re.search(r'id="code">\s*([0-9A-Z-]{9})', made.html)[1]
    other = Browser(home)
    page = await other.get("/sign-in")
    wrong = await other.send("/sign-in/code", {"code": "0000-0000", "next": "/"}, page=page)
    assert wrong.status == 401
    assert "make a new one" in wrong.text
    right = await other.send("/sign-in/code", {"code": code.lower(), "next": "/"}, page=page)
    assert right.url == "/libraries"
    await other.close()


async def test_a_form_sent_after_the_session_ended_leads_to_the_sign_in_page(browser, home):
    await browser.sign_in()
    token = (await browser.get("/libraries")).form_token()
    browser.session.cookie_jar.clear()
    page = await browser.send("/libraries/1/scan", token=token)
    assert page.url.startswith("/sign-in")
    assert "Your sign-in had ended" in page.text
