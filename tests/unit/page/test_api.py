"""The JSON API, route by route, on stand-ins for the rooms."""

from typing import Any

import pytest

from bridge_agent import __version__
from bridge_agent.link.errors import PairFailed
from bridge_agent.mapping.mappings import PathRefused
from tests.fakes.rooms import SERVER_ID
from tests.unit.page.conftest import MakePage, Page


async def get(page: Page, path: str) -> Any:
    answer = await page.client.get(path)
    assert answer.status == 200, await answer.text()
    return await answer.json()


async def refused(page: Page, method: str, path: str, body: object = None) -> tuple[int, str, str]:
    answer = await page.client.request(method, path, json=body)
    error = (await answer.json())["error"]
    return answer.status, error["code"], error["message"]


# ---- status


async def test_the_status_of_a_bridge_that_is_not_paired(served: Page):
    status = await get(served, "/api/status")
    assert status == {
        "version": __version__,
        "link": {
            "state": "unpaired",
            "reason": None,
            "server_url": None,
            "server_name": None,
            "server_id": None,
            "online": False,
            "last_heartbeat_at": None,
            "next_try_at": None,
        },
        "libraries": [],
        "lanes": [{"name": "light", "limit": 2, "running": 0, "kinds": ["bridge.verify"]}],
        "jobs": {"running": [], "recent": []},
        "workers": [],
        "ui_url": None,
    }


async def test_the_status_of_a_bridge_at_work(make_page: MakePage):
    page = await make_page(public_url="http://nas.lan:13380/bridge/")
    page.house.pair(ago=12)
    page.house.library()
    page.house.job(1, "done")
    page.house.job(2, "running")
    status = await get(page, "/api/status")
    assert status["link"]["last_heartbeat_at"] == "2025-12-31T23:59:48.000Z"
    assert status["link"]["online"] is True
    assert status["ui_url"] == "http://nas.lan:13380/bridge"
    assert [library["name"] for library in status["libraries"]] == ["Audiobooks"]
    assert [job["job_id"] for job in status["jobs"]["running"]] == [2]
    assert [job["job_id"] for job in status["jobs"]["recent"]] == [1]


# ---- pairing


async def test_pairing_answers_the_status(served: Page):
    body = {"server_url": " http://maple.local ", "code": "ABCD-1234", "unknown": True}
    answer = await served.client.post("/api/pair", json=body)
    assert answer.status == 200
    assert (await answer.json())["link"]["state"] == "connecting"
    assert served.house.link.pairings == [("http://maple.local", "ABCD-1234")]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "bad_address"),
        (409, "already_paired"),
        (422, "invalid_code"),
        (422, "old_server"),
        (422, "refused"),
        (502, "tls_untrusted"),
        (502, "unreachable"),
        (502, "redirected"),
        (502, "server_error"),
        (502, "not_a_server"),
    ],
)
async def test_each_failed_pairing_is_told_as_the_link_tells_it(served: Page, status: int, code: str):
    served.house.link.failure = PairFailed(status, code, "What happened; what to do.")
    told = await refused(served, "POST", "/api/pair", {"server_url": "http://x", "code": "ABCD1234"})
    assert told == (status, code, "What happened; what to do.")


async def test_a_pairing_without_its_fields_is_the_links_to_judge(served: Page):
    await served.client.post("/api/pair", json={})
    assert served.house.link.pairings == [("", "")]
    assert (await refused(served, "POST", "/api/pair", {"server_url": 5}))[:2] == (400, "bad_request")
    assert (await refused(served, "POST", "/api/pair", ["x"]))[:2] == (400, "bad_request")


async def test_unpairing_answers_the_status(served: Page):
    served.house.pair()
    answer = await served.client.post("/api/unpair")
    assert answer.status == 200
    assert (await answer.json())["link"]["state"] == "unpaired"
    # The rows say “aside” before it answers.
    assert served.house.jobs.settled_calls == 1


# ---- jobs


async def test_jobs_are_listed_newest_first_by_state_and_in_pieces(served: Page):
    for number in range(1, 6):
        served.house.job(number, "done" if number % 2 else "failed")
    assert [job["job_id"] for job in (await get(served, "/api/jobs"))["jobs"]] == [5, 4, 3, 2, 1]
    failed = await get(served, "/api/jobs?state=failed")
    assert [job["job_id"] for job in failed["jobs"]] == [4, 2]
    first = await get(served, "/api/jobs?limit=2")
    second = await get(served, f"/api/jobs?limit=2&before={first['next_before']}")
    assert [job["job_id"] for job in first["jobs"] + second["jobs"]] == [5, 4, 3, 2]


async def test_a_wrong_filter_is_refused(served: Page):
    assert (await refused(served, "GET", "/api/jobs?state=queued"))[:2] == (400, "bad_request")
    assert (await refused(served, "GET", "/api/jobs?limit=x"))[:2] == (400, "bad_request")


async def test_a_job_is_its_latest_attempt_with_all_of_them(served: Page):
    served.house.job(1, "lost", attempt=1)
    served.house.job(1, "done", attempt=2)
    job = await get(served, f"/api/jobs/{SERVER_ID}/1")
    assert (job["attempt"], job["state"]) == (2, "done")
    assert [attempt["attempt"] for attempt in job["attempts"]] == [2, 1]


async def test_an_unknown_job_is_404(served: Page):
    for method, path in (
        ("GET", f"/api/jobs/{SERVER_ID}/9"),
        ("GET", f"/api/jobs/{SERVER_ID}/x"),
        ("GET", "/api/jobs/nowhere/1"),
        ("POST", f"/api/jobs/{SERVER_ID}/9/cancel"),
        ("POST", f"/api/jobs/{SERVER_ID}/9/resume"),
    ):
        assert (await refused(served, method, path))[:2] == (404, "not_found"), path


async def test_cancel_and_resume_are_taken_with_202_and_409_when_over(served: Page):
    served.house.job(1, "running")
    served.house.job(2, "needs_attention")
    served.house.job(3, "done")
    for path in (f"{SERVER_ID}/1/cancel", f"{SERVER_ID}/2/resume", f"{SERVER_ID}/2/cancel"):
        answer = await served.client.post(f"/api/jobs/{path}")
        assert answer.status == 202, path
        assert (await answer.json())["server_id"] == SERVER_ID
    assert served.house.jobs.cancelled == [(SERVER_ID, 1), (SERVER_ID, 2)]
    assert served.house.jobs.resumed == [(SERVER_ID, 2)]
    for path in (f"{SERVER_ID}/3/cancel", f"{SERVER_ID}/3/resume", f"{SERVER_ID}/1/resume"):
        assert (await refused(served, "POST", f"/api/jobs/{path}"))[:2] == (409, "finished"), path


# ---- mappings


async def test_a_mapping_is_set_cleared_and_checked(served: Page):
    served.house.pair()
    row = served.house.library()
    for method, path, body, done in (
        ("PUT", "/api/mappings/1", {"path": "/mnt/x"}, [("set", 1, "/mnt/x"), ("check", 1)]),
        ("DELETE", "/api/mappings/1", None, [("clear", 1), ("check", 1)]),
        ("POST", "/api/mappings/1/check", None, [("check", 1)]),
    ):
        served.house.mappings.done.clear()
        answer = await served.client.request(method, path, json=body)
        assert answer.status == 200, path
        assert await answer.json() == row
        assert served.house.mappings.done == done


async def test_a_library_that_is_not_listed_is_404(served: Page):
    served.house.pair()
    for method, path, body in (
        ("PUT", "/api/mappings/9", {"path": "/x"}),
        ("DELETE", "/api/mappings/9", None),
        ("POST", "/api/mappings/0/check", None),
        ("POST", "/api/mappings/x/check", None),
    ):
        assert (await refused(served, method, path, body))[:2] == (404, "not_found"), path


async def test_a_path_that_is_none_is_refused_with_what_to_do(served: Page):
    served.house.pair()
    served.house.library()
    served.house.mappings.refusal = PathRefused()
    told = await refused(served, "PUT", "/api/mappings/1", {"path": "here"})
    assert told == (400, "bad_path", PathRefused().message)
    assert (await refused(served, "PUT", "/api/mappings/1", {}))[:2] == (400, "bad_request")


# ---- the rest


async def test_where_the_token_is_kept_is_told_and_never_the_token(served: Page):
    place = await get(served, "/api/token")
    assert place == {
        "kind": "keyring",
        "sentence": "The token is in this computer’s keyring (GNOME Keyring).",
        "strength": "strong",
    }


async def test_an_unknown_address_is_json_below_api_and_a_page_elsewhere(served: Page):
    assert (await refused(served, "GET", "/api/nothing"))[:2] == (404, "not_found")
    answer = await served.client.get("/nothing/here")
    assert answer.status == 404
    text = await answer.text()
    assert "There is nothing at this address." in text
    assert 'href="../static/' in text


async def test_a_failure_inside_says_nothing_of_its_inside(served: Page, caplog: pytest.LogCaptureFixture):
    served.house.mappings.refusal = RuntimeError("the secret inside")
    served.house.pair()
    served.house.library()
    told = await refused(served, "PUT", "/api/mappings/1", {"path": "/x"})
    assert told == (500, "internal", "Something went wrong here; the log says what.")
    assert "the secret inside" in caplog.text
