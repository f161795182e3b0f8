"""The gates in law 12's order: who is let through, and what everybody else is told."""

import pytest
from aiohttp import ClientResponse

from bridge_agent.web.security import machine_names
from tests.fakes.rooms import SERVER_ID
from tests.unit.page.conftest import MakePage, Page

JOB = f"{SERVER_ID}/7"
ROUTES = [
    ("GET", "/"),
    ("GET", "/libraries"),
    ("GET", "/jobs"),
    ("GET", f"/jobs/{JOB}"),
    ("GET", "/transcripts"),
    ("GET", "/transcripts/book"),
    ("GET", "/transcripts/1"),
    ("GET", "/workers"),
    ("GET", "/workers/add"),
    ("GET", "/workers/bridge-workers.pem"),
    ("GET", "/settings"),
    ("GET", "/diagnostics"),
    ("GET", "/login"),
    ("GET", "/static/page/page.js"),
    ("GET", "/nothing/at/all"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("GET", "/api/status"),
    ("GET", "/api/events"),
    ("GET", "/api/jobs"),
    ("GET", f"/api/jobs/{JOB}"),
    ("GET", "/api/token"),
    ("GET", "/api/transcripts"),
    ("GET", "/api/transcripts/1"),
    ("GET", "/api/transcripts/1/transcript.txt"),
    ("GET", "/api/search"),
    ("GET", "/api/workers"),
    ("GET", "/api/workers/tokens"),
    ("GET", "/api/nothing"),
    ("POST", "/api/transcripts/mend"),
    ("POST", "/api/login"),
    ("POST", "/api/pair"),
    ("POST", "/api/unpair"),
    ("PUT", "/api/password"),
    ("POST", f"/api/jobs/{JOB}/cancel"),
    ("POST", f"/api/jobs/{JOB}/resume"),
    ("PUT", "/api/mappings/1"),
    ("DELETE", "/api/mappings/1"),
    ("POST", "/api/mappings/1/check"),
    ("POST", "/api/workers/tokens"),
    ("DELETE", "/api/workers/tokens/1"),
    ("POST", "/api/workers/tokens/1/pause"),
    ("POST", "/api/workers/tokens/1/resume"),
    ("POST", "/workers/add"),
    ("POST", "/workers/1/pause"),
    ("POST", "/workers/1/resume"),
    ("POST", "/workers/1/revoke"),
    ("POST", "/pair"),
    ("POST", "/unpair"),
    ("POST", "/login"),
    ("POST", "/logout"),
    ("POST", "/libraries/1"),
    ("POST", "/settings/password"),
]
PUBLIC = {"/healthz", "/static/page/page.js", "/login", "/api/login"}
CHANGING = [route for route in ROUTES if route[0] != "GET"]


def body_of(method: str, path: str) -> dict[str, object]:
    """Return what the request has for a body: the HTML forms take forms alone."""
    return {"data": {"x": "1"}} if method == "POST" and not path.startswith("/api") else {}


async def code_of(answer: ClientResponse) -> str:
    code: str = (await answer.json())["error"]["code"]
    return code


def test_the_list_above_has_every_route(served: Page):
    app = served.client.server.app  # type: ignore[attr-defined]
    known = {
        (route.method, route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    listed = set()
    for method, path in ROUTES:
        for have, canonical in known:
            pattern = canonical.replace("{server_id}/{id}", JOB).replace("{library_id}", "1")
            pattern = pattern.replace("{id}", "1").replace("{name}", "transcript.txt")
            if have == method and (pattern == path or (canonical == "/static" and "/static/" in path)):
                listed.add((have, canonical))
    extra = {
        ("POST", "/libraries/{library_id}/clear"),
        ("POST", "/libraries/{library_id}/check"),
        ("POST", "/jobs/{server_id}/{id}/cancel"),
        ("POST", "/jobs/{server_id}/{id}/resume"),
        ("POST", "/settings/password/remove"),
        ("GET", "/pair"),
        ("GET", "/libraries/{library_id}"),
        ("GET", "/settings/password"),
    }
    assert known - listed == extra


# ---- Host


async def test_a_foreign_host_is_refused_on_every_route(served: Page):
    for method, path in ROUTES:
        answer = await served.client.request(method, path, headers={"Host": "rebound.example"})
        assert answer.status == 403, path
        assert "BRIDGE_ALLOWED_HOSTS" in await answer.text(), path


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:13380", "[::1]:13380", "localhost", "LOCALHOST:1", *sorted(machine_names())],
)
async def test_this_machines_names_are_served(served: Page, host: str):
    answer = await served.client.get("/healthz", headers={"Host": host})
    assert answer.status == 200


@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example"])
async def test_other_names_are_not(served: Page, host: str):
    answer = await served.client.get("/healthz", headers={"Host": host})
    assert answer.status == 403


async def test_the_settings_allow_more_names(make_page: MakePage):
    page = await make_page(public_url="https://bridge.example:8443/sub", allowed_hosts="nas.lan, box")
    for host in ("bridge.example", "nas.lan:13380", "box"):
        assert (await page.client.get("/healthz", headers={"Host": host})).status == 200, host


# ---- method and type


async def test_forms_and_text_are_refused_by_the_api(served: Page):
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain"):
        answer = await served.client.post("/api/pair", data=b"code=1", headers={"Content-Type": kind})
        assert (answer.status, await code_of(answer)) == (415, "unsupported_type"), kind
    assert served.house.link.pairings == []


async def test_a_cross_site_form_without_a_body_is_refused_by_its_type(served: Page):
    served.house.pair()
    answer = await served.client.post("/api/unpair", headers={"Content-Type": "text/plain"})
    assert answer.status == 415
    assert served.house.link.state == "online"


async def test_a_request_without_a_body_needs_no_type(served: Page):
    served.house.pair()
    assert (await served.client.post("/api/unpair")).status == 200


async def test_json_is_refused_by_the_forms(served: Page):
    answer = await served.client.post("/pair", json={"server_url": "http://x", "code": "1"})
    assert answer.status == 415
    assert served.house.link.pairings == []


async def test_methods_that_nothing_has_are_refused(served: Page):
    assert (await served.client.options("/api/status")).status == 405
    assert (await served.client.patch("/api/status")).status == 405
    assert (await served.client.delete("/api/status")).status == 405


# ---- Sec-Fetch-Site and Origin


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
async def test_another_sites_page_changes_nothing(served: Page, headers: dict[str, str]):
    for method, path in CHANGING:
        answer = await served.client.request(method, path, headers=headers, **body_of(method, path))
        assert answer.status == 403, path
        assert "another site" in await answer.text(), path


async def test_the_pages_own_origin_and_none_at_all_pass(served: Page):
    own = str(served.client.make_url("")).rstrip("/")
    for headers in ({}, {"Origin": own, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert (await served.client.post("/api/unpair", headers=headers)).status == 200, headers


async def test_the_public_address_and_https_before_a_proxy_are_the_pages_own_origin(make_page: MakePage):
    page = await make_page(public_url="https://bridge.example", page_password="correct horse")
    token = {"Authorization": f"Bearer {page.token}"}
    for host, origin, proto in (
        ("127.0.0.1", "https://bridge.example", "https"),
        ("bridge.example", "https://bridge.example", "https"),
        ("localhost", "https://localhost", "https"),
    ):
        headers = {**token, "Host": host, "Origin": origin, "X-Forwarded-Proto": proto}
        assert (await page.client.post("/api/unpair", headers=headers)).status == 200, (host, origin)
    headers = {**token, "Host": "localhost", "Origin": "https://evil.example", "X-Forwarded-Proto": "https"}
    assert (await page.client.post("/api/unpair", headers=headers)).status == 403


# ---- starting


async def test_a_bridge_that_starts_answers_503_but_for_health_and_static_files(make_page: MakePage):
    page = await make_page(opened=False)
    for method, path in ROUTES:
        answer = await page.client.request(method, path, **body_of(method, path))
        alive = path in ("/healthz", "/static/page/page.js")
        assert answer.status == (200 if alive else 503), path
        if not alive:
            assert answer.headers["Retry-After"] == "1"
            assert "starting" in await answer.text()


async def test_it_says_so_to_a_person_and_in_json_to_a_program(make_page: MakePage):
    page = await make_page(opened=False)
    shown = await (await page.client.get("/")).text()
    assert "<h1>The Bridge is starting.</h1>" in shown
    assert await code_of(await page.client.get("/api/status")) == "starting"


# ---- session


async def test_on_loopback_without_a_password_all_is_open(served: Page):
    for method, path in ROUTES:
        if method == "GET" and path not in ("/api/events", "/login"):
            answer = await served.client.get(path)
            assert answer.status in (200, 404), path


async def test_with_a_password_everything_but_the_public_routes_needs_it(make_page: MakePage):
    page = await make_page(page_password="correct horse")
    for method, path in ROUTES:
        answer = await page.client.request(method, path, allow_redirects=False, **body_of(method, path))
        if path in PUBLIC:
            # They are reached; what they then make of an empty request is theirs.
            assert answer.status in (200, 400, 403), path
        elif path == "/metrics":
            assert answer.status == 200
        elif path.startswith("/api"):
            assert (answer.status, await code_of(answer)) == (401, "password_needed"), path
        else:
            assert answer.status == 303, path
            assert answer.headers["Location"].partition("?")[0].endswith("login"), path


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "192.168.1.9"},
        {"X-Forwarded-Host": "bridge.example"},
        {"x-forwarded-proto": "https"},
        {"Forwarded": "for=192.168.1.9"},
        {"X-Real-IP": "192.168.1.9"},
        {"Host": "192.168.1.5"},
        {"Host": min(machine_names())},
    ],
)
async def test_what_may_come_from_elsewhere_needs_a_password_even_where_none_is_set(
    served: Page, headers: dict[str, str]
):
    answer = await served.client.get("/api/status", headers=headers)
    assert (answer.status, await code_of(answer)) == (401, "password_needed")
    assert (await served.client.get("/metrics", headers=headers)).status == 401
    page = await served.client.get("/", headers=headers)
    assert page.status == 200
    assert "This page has no password yet." in await page.text()


async def test_a_listener_beyond_loopback_needs_a_password_from_this_machine_too(make_page: MakePage):
    page = await make_page(listen="0.0.0.0:0")
    assert (await page.client.get("/api/status")).status == 401
    assert (await page.client.get("/metrics")).status == 401
    assert (await page.client.get("/healthz")).status == 200


async def test_the_way_to_the_sign_in_page_is_relative_and_leads_back(make_page: MakePage):
    page = await make_page(page_password="correct horse")
    answer = await page.client.get(f"/jobs/{JOB}", allow_redirects=False)
    assert answer.headers["Location"] == f"../../../login?next=/jobs/{SERVER_ID}/7".replace(
        "../../../", "../../"
    )


# ---- CSRF


async def test_a_form_without_its_token_is_refused(served: Page):
    for path in (path for _, path in CHANGING if not path.startswith("/api")):
        for token in ("", "0" * 64):
            form = {"csrf": token, "server_url": "http://x", "code": "1"}
            answer = await served.client.post(path, data=form)
            assert answer.status == 403, path
            assert "too old" in await answer.text()
    assert served.house.link.pairings == []


async def test_a_forms_token_is_good_for_its_own_session_alone(make_page: MakePage):
    page = await make_page(page_password="correct horse")
    shown = await (await page.client.get("/login")).text()
    stranger = shown.partition('name="csrf" value="')[2].partition('"')[0]
    await page.client.post("/api/login", json={"password": "correct horse"})
    answer = await page.client.post("/unpair", data={"csrf": stranger})
    assert answer.status == 403


# ---- headers


@pytest.mark.parametrize("path", ["/", "/api/status", "/nothing", "/static/page/page.js", "/healthz"])
async def test_every_answer_has_the_security_headers(served: Page, path: str):
    headers = (await served.client.get(path)).headers
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe-inline" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"


async def test_pages_and_answers_are_not_kept_by_caches(served: Page):
    for path in ("/", "/settings", "/api/status", "/healthz"):
        assert (await served.client.get(path)).headers["Cache-Control"] == "no-store", path
