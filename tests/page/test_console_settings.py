"""Libraries, people, API keys and one's own account by the pages."""

import re

from tests.page.console_rig import API, PASSWORD, Browser


async def test_the_list_of_libraries_tells_books_and_scans(browser):
    page = await browser.get("/libraries")
    assert "1 library, scanned." in page.text
    assert "2 books · scanned today" in page.text


async def test_a_wrong_library_is_refused_in_words_and_the_fields_are_kept(browser, home):
    for name, folder, words in (
        ("Mine", "books", "is no whole path"),
        ("Mine", "/nowhere/at/all", "There is no folder “/nowhere/at/all” on this server"),
        ("", "/", "A library needs a name"),
    ):
        page = await browser.send("/libraries", {"name": name, "root": folder})
        assert page.status == 400
        assert words in page.text
        assert f'value="{folder}"' in page.html
    assert len(home.library.libraries()) == 1


async def test_a_library_is_added_scanned_and_removed_with_its_jobs(browser, home, tmp_path):
    (tmp_path / "more").mkdir()
    page = await browser.send("/libraries", {"name": "More <b>", "root": str(tmp_path / "more")})
    assert "The library is added." in page.text
    assert "More &lt;b&gt;" in page.html
    added = next(library for library in home.library.libraries() if library.name == "More <b>")
    question = await browser.get(f"/libraries/{added.id}/remove")
    assert "Remove the library “More <b>”?" in question.text
    assert home.library.get(added.id) is not None
    page = await browser.send(f"/libraries/{added.id}/remove", page=question)
    assert "Its files are untouched." in page.text
    assert home.library.get(added.id) is None
    assert (tmp_path / "more").is_dir()


async def test_scan_now_begins_a_scan(browser, home):
    before = home.library.get(1).scan.finished_at
    page = await browser.send("/libraries/1/scan")
    assert "The scan has begun" in page.text
    await home.library.settled()
    assert home.library.get(1).scan.finished_at > before


async def test_a_library_whose_folder_is_away_says_so_and_can_be_scanned_again(browser, home, tmp_path):
    folder = tmp_path / "more"
    folder.mkdir()
    added = await home.library.add("More", folder)
    await home.library.settled()
    folder.rmdir()
    home.library.request_scan(added.id)
    await home.library.settled()
    page = await browser.get("/libraries")
    assert "“More” could not be scanned." in page.text
    assert "Scan again More" in page.text
    assert (
        "The last scan failed; what went wrong stands above."
        in (await browser.get(f"/libraries/{added.id}")).text
    )


async def test_books_are_found_by_words(browser):
    assert "Stone Soup" in (await browser.get("/libraries/1?q=stone")).text
    nothing = await browser.get("/libraries/1?q=%3Cscript%3E")
    assert "No book fits “<script>”" in nothing.text
    assert "<script>”" not in nothing.html


async def test_a_wrong_place_in_the_list_is_worded(browser):
    page = await browser.get("/libraries/1?after=nonsense")
    assert page.status == 400
    assert "begin the list anew" in page.text


async def test_a_books_page_has_its_files_in_order_and_its_chapters(browser, home):
    found = await home.library.books(1, "stone")
    path = found.books[0].path
    page = await browser.get(f"/libraries/1/book?path={path}")
    first, second = page.text.index("01 - Chapter 1.mp3"), page.text.index("02 - Chapter 2.mp3")
    assert first < second
    assert "Verify this book" in page.text


async def test_people_are_added_changed_and_the_last_admin_is_kept(browser, home):
    page = await browser.send(
        "/settings/people", {"username": "maria", "password": "pw-pw-pw", "role": "user"}
    )
    assert "The account is made" in page.text
    assert "2 people have an account here." in page.text
    taken = await browser.send("/settings/people", {"username": "maria", "password": "x", "role": "user"})
    assert taken.status == 409
    assert "choose another name" in taken.text
    changed = await browser.send("/settings/people/2", {"what": "access", "role": "admin", "enabled": "yes"})
    assert "2 of them are admins." in changed.text
    off = await browser.send("/settings/people/2", {"what": "access", "role": "admin"})
    assert "Off" in off.text
    last = await browser.send("/settings/people/1", {"what": "access", "role": "user", "enabled": "yes"})
    assert last.status == 409
    assert "last admin" in last.text
    assert (await home.users.check("admin", PASSWORD)).is_admin


async def test_a_new_password_signs_its_owner_in(browser, home):
    await home.users.create("maria", "old-one", "user")
    await browser.send("/settings/people/2", {"what": "password", "password": "new-one"})
    assert await home.users.check("maria", "old-one") is None
    assert await home.users.check("maria", "new-one") is not None


async def test_an_api_key_is_shown_once_and_removed(browser):
    page = await browser.send("/settings/keys", {"name": "Home Assistant"})
    token = re.search(r"key_[A-Za-z0-9_-]{43}", page.html)[0]
    assert token not in (await browser.get(page.url)).html
    headers = {"Authorization": f"Bearer {token}"}
    async with browser.session.get(f"{API}/admin/bridge", headers=headers) as answer:
        assert answer.status == 200
    question = await browser.get(
        "/settings/keys/" + re.search(r"keys/(\d+)/remove", page.html)[1] + "/remove"
    )
    assert "Remove the key “Home Assistant”?" in question.text
    gone = await browser.send(question.url, page=question)
    assert "The key is removed" in gone.text
    async with browser.session.get(f"{API}/admin/bridge", headers=headers) as answer:
        assert answer.status == 401


async def test_a_key_needs_a_name(browser):
    page = await browser.send("/settings/keys", {"name": " "})
    assert page.status == 400
    assert "A key needs a name" in page.text


async def test_ones_own_password_needs_the_one_of_now(browser, home):
    wrong = await browser.send("/settings/account/password", {"old": "x", "new": "fresh-one"})
    assert wrong.status == 400
    assert "password of now is not right" in wrong.text
    right = await browser.send("/settings/account/password", {"old": PASSWORD, "new": "fresh-one"})
    assert "this one stays" in right.text
    assert await home.users.check("admin", "fresh-one") is not None


async def test_other_devices_are_listed_and_signed_out(browser, home):
    other = Browser(home)
    await other.sign_in()
    page = await browser.get("/settings/account")
    assert "Signed in on 2 devices" in page.text
    out = await browser.send("/settings/account/sign-out-others")
    assert "All other sign-ins of yours have ended" in out.text
    assert (await other.get("/libraries", follow=False)).status == 303
    assert (await browser.get("/libraries", follow=False)).status == 200
    await other.close()


async def test_below_a_sub_path_every_link_stays_there(browser):
    for path in ("/libraries", "/libraries/1", "/settings/bridge", "/settings/people/1"):
        page = await browser.get(path)
        for link in re.findall(r'(?:href|src|action|data-events)="([^"]*)"', page.html):
            assert link.startswith((".", "#")), (path, link)
