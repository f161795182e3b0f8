"""Workers on the page: the tokens' routes, the list and its forms, events, and who may use which listener."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from bridge_agent.worker_api.opening import Workers
from tests.fakes import speech
from tests.fakes.rooms import SERVER_ID
from tests.fakes.workers import looks, workers_room
from tests.unit.page.conftest import MakePage, Page
from tests.unit.page.test_events import Stream
from tests.unit.page.test_pages import NASTY, send, show, words_of

MakeShared = Callable[..., Awaitable[tuple[Page, Workers]]]


@pytest.fixture
async def shared(make_page: MakePage) -> AsyncIterator[MakeShared]:
    """Return a function that serves a page of a Bridge that can share its work."""
    rooms: list[Any] = []

    async def make(
        *, worker_settings: dict[str, object] | None = None, **environ: str
    ) -> tuple[Page, Workers]:
        page = await make_page(opened=False, **environ)
        parts = page.house.parts
        room = workers_room(parts.settings.data_dir, page.clock, **(worker_settings or {}))
        parts.workers = await room.__aenter__()
        rooms.append(room)
        parts.speech = speech.speech(speech.FakePipeline())
        page.house.pair()
        parts.control_token = "key_of_the_command_line"
        parts.open()
        return page, parts.workers

    yield make
    for room in rooms:
        await room.__aexit__(None, None, None)


async def invite(page: Page, **body: object) -> dict[str, Any]:
    answer = await page.client.post("/api/workers/tokens", json=body)
    assert answer.status == 201, await answer.text()
    made: dict[str, Any] = await answer.json()
    return made


async def listed(page: Page) -> list[dict[str, Any]]:
    answer = await page.client.get("/api/workers/tokens")
    assert answer.status == 200
    rows: list[dict[str, Any]] = (await answer.json())["workers"]
    return rows


async def call(url: str, token: str | None, tls: Any = True, **more: Any) -> int:
    """Ask the workers' listener for work, as the two kinds of worker do; return the status they both get."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(headers=headers, **more) as http,
        http.post(f"{url}/worker/v1/jobs/claim-download", json={}, ssl=tls) as answer,
    ):
        return answer.status


# ---- the API


async def test_the_first_token_turns_the_listener_on_and_is_shown_once(shared: MakeShared):
    page, workers = await shared()
    assert not workers.listener.on
    made = await invite(page, name="games-room", model="large-v3")
    assert set(made) == {"id", "name", "token", "url", "fingerprint"}
    assert re.fullmatch(r"wrk_[A-Za-z0-9_-]{43}", made["token"])
    assert made["url"] == f"http://127.0.0.1:{workers.listener.port}"
    assert made["fingerprint"] is None
    assert await call(made["url"], made["token"]) == 204
    (row,) = await listed(page)
    assert set(row) == {"id", "name", "model", "created_at", "last_seen_at", "state"}
    assert (row["id"], row["name"], row["model"], row["state"]) == (
        made["id"],
        "games-room",
        "large-v3",
        "idle",
    )
    assert made["token"] not in await show(page, "/workers")


async def test_with_tls_the_answer_pins_the_certificate_that_is_also_to_be_had_as_a_file(shared: MakeShared):
    page, _ = await shared(worker_settings={"worker_tls": "on"})
    assert (await page.client.get("/workers/bridge-workers.pem")).status == 404
    made = await invite(page, name="gpu")
    pin = aiohttp.Fingerprint(bytes.fromhex(made["fingerprint"]))
    assert made["url"].startswith("https://")
    assert await call(made["url"], made["token"], pin) == 204
    pem = await (await page.client.get("/workers/bridge-workers.pem")).text()
    assert pem.startswith("-----BEGIN CERTIFICATE-----")
    assert "KEY" not in pem


async def test_a_deleted_token_is_refused_at_its_next_call(shared: MakeShared):
    page, _ = await shared()
    made = await invite(page, name="gpu")
    assert (await page.client.delete(f"/api/workers/tokens/{made['id']}")).status == 204
    assert await call(made["url"], made["token"]) == 401
    assert await listed(page) == []
    assert (await page.client.delete(f"/api/workers/tokens/{made['id']}")).status == 404


async def told(page: Page) -> dict[str, Any]:
    answer = await page.client.get("/api/workers")
    assert answer.status == 200
    found: dict[str, Any] = await answer.json()
    return found


async def test_what_the_commands_tell_of_workers_besides_their_list_is_to_be_had(shared: MakeShared):
    page, workers = await shared()
    made = await invite(page, name="gpu")
    looks(workers, made["id"], "parked", reason="it failed at 3 parts in a row; mend that, then resume it.")
    found = await told(page)
    assert set(found) == {"workers", "problem", "model"}
    assert found["problem"] is None
    assert [(row["name"], row["reason"]) for row in found["workers"]] == [
        ("gpu", "it failed at 3 parts in a row; mend that, then resume it.")
    ]


async def test_the_api_names_the_model_of_the_line_that_the_page_shows(shared: MakeShared):
    page, _ = await shared(speech_model="medium")
    assert (await told(page))["model"] == "medium"
    assert "BRIDGE_SPEECH_MODEL=medium bridge-agent worker" in (await send(page, "/workers/add", name="3"))[2]


async def test_a_model_that_is_the_default_or_a_folder_of_this_machine_is_not_named(shared: MakeShared):
    for page in ((await shared())[0], (await shared(speech_model="/srv/models/medium"))[0]):
        assert (await told(page))["model"] is None


async def test_a_worker_is_paused_and_resumed_by_the_api(shared: MakeShared):
    page, _ = await shared()
    route = f"/api/workers/tokens/{(await invite(page, name='gpu'))['id']}"
    assert (await page.client.post(f"{route}/pause")).status == 204
    assert [row["state"] for row in await listed(page)] == ["paused"]
    assert (await page.client.post(f"{route}/resume")).status == 204
    assert [row["state"] for row in await listed(page)] == ["offline"]
    for deed in ("pause", "resume"):
        answer = await page.client.post(f"/api/workers/tokens/99/{deed}")
        assert (answer.status, (await answer.json())["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "  "}, 400, "bad_name"),
        ({}, 400, "bad_request"),
        ({"name": "gpu"}, 409, "name_taken"),
        ({"name": "this computer"}, 409, "name_taken"),
    ],
)
async def test_a_name_that_is_none_or_taken_is_refused(
    shared: MakeShared, body: dict[str, object], status: int, code: str
):
    page, _ = await shared()
    await invite(page, name="gpu")
    answer = await page.client.post("/api/workers/tokens", json=body)
    assert (answer.status, (await answer.json())["error"]["code"]) == (status, code)


async def test_a_bridge_that_transcribes_nothing_invites_nobody(served: Page):
    answer = await served.client.post("/api/workers/tokens", json={"name": "gpu"})
    assert (answer.status, (await answer.json())["error"]["code"]) == (409, "no_speech")


async def test_a_bridge_without_an_engine_says_with_what_to_install_it(
    served: Page, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bridge_agent.page.views_speech.find_spec", lambda _: None)
    answer = await served.client.post("/api/workers/tokens", json={"name": "gpu"})
    assert "pip install 'audiobook-bridge-agent[speech]'" in (await answer.json())["error"]["message"]
    assert await listed(served) == []


async def test_the_status_tells_of_each_worker_what_the_heartbeat_tells_and_more(shared: MakeShared):
    page, workers = await shared()
    made = await invite(page, name="gpu")
    looks(
        workers, made["id"], "working", on=[("Emma", 11)], speed=42.0, engine="faster-whisper", device="cuda"
    )
    (told,) = (await (await page.client.get("/api/status")).json())["workers"]
    assert (told["name"], told["state"], told["seconds_per_second"]) == ("gpu", "working", 42.0)
    assert (told["engine"], told["device"], told["job_id"]) == ("faster-whisper", "cuda", 7)
    assert told["on"] == [{"title": "Emma", "part": 12}]
    assert "token" not in told


async def test_events_tell_of_a_worker_that_came_changed_and_went(shared: MakeShared):
    page, workers = await shared()
    async with Stream(page) as stream:

        async def next_worker() -> tuple[str, str]:
            while True:
                _, name, data = await stream.next()
                if name == "worker":
                    return data["name"], data["state"]

        made = await invite(page, name="gpu")
        await page.clock.advance(16)
        assert await next_worker() == ("gpu", "offline")
        await workers.service.pause(made["id"])
        await page.clock.advance(1)
        assert await next_worker() == ("gpu", "paused")
        await page.client.delete(f"/api/workers/tokens/{made['id']}")
        await page.clock.advance(1)
        assert await next_worker() == ("gpu", "revoked")


# ---- which token opens what


async def test_a_workers_token_opens_no_page_not_even_from_this_machine(shared: MakeShared):
    page, _ = await shared()
    token = (await invite(page, name="gpu"))["token"]
    for scheme in ("Bearer", "bearer", "Token"):
        headers = {"Authorization": f"{scheme} {token}"}
        for path in (
            "/",
            "/workers",
            "/api/status",
            "/api/workers/tokens",
            "/metrics",
            "/api/events",
            "/login",
        ):
            assert (await page.client.get(path, headers=headers)).status == 401, path
        more = await page.client.post("/api/workers/tokens", json={"name": "x"}, headers=headers)
        assert more.status == 401
    assert (await page.client.get("/api/status")).status == 200


async def test_nothing_that_opens_the_page_opens_the_workers_routes(shared: MakeShared):
    page, _ = await shared(page_password="correct horse")
    assert (await page.client.get("/api/status")).status == 401
    assert (await page.client.post("/api/login", json={"password": "correct horse"})).status == 200
    made = await invite(page, name="gpu")
    cookies = {cookie.key: cookie.value for cookie in page.client.session.cookie_jar}
    assert cookies
    assert await call(made["url"], None, cookies=cookies) == 401
    for other in (page.house.parts.control_token, "correct horse", *cookies.values()):
        assert await call(made["url"], other) == 401
    assert await call(made["url"], made["token"]) == 204


# ---- the page


async def test_this_computer_stands_first_with_what_it_hears_with(shared: MakeShared):
    page, _ = await shared()
    read = words_of(await show(page, "/workers"))
    assert "No other machine takes part yet." in read
    assert read.index("This computer") < read.index("Add a worker")


async def test_a_row_says_engine_device_speed_and_what_it_is_on(shared: MakeShared):
    page, workers = await shared()
    made = await invite(page, name="gpu", model="large-v3")
    looks(
        workers,
        made["id"],
        "working",
        on=[("Emma", 11)],
        speed=42.4,
        engine="faster-whisper",
        device="cuda",
        last_seen_at="2025-12-31T23:59:48.000Z",
    )
    read = words_of(await show(page, "/workers"))
    assert "One worker at work. Workers reach this Bridge at http://127.0.0.1:" in read
    told = "gpu ● Working faster-whisper large-v3 · GPU · 42 s of audio a second · last seen 12 seconds ago"
    assert f"{told} Part 12 of Emma Pause Revoke…" in read


async def test_a_parked_worker_says_why_and_resumes(shared: MakeShared):
    page, workers = await shared()
    made = await invite(page, name="gpu")
    await workers.tokens.park(made["id"], "it failed at 3 parts in a row; mend that, then resume it.")
    read = words_of(await show(page, "/workers"))
    assert "gpu is parked." in read
    assert "It failed at 3 parts in a row; mend that, then resume it." in read
    status, path, text = await send(page, f"/workers/{made['id']}/resume")
    assert (status, path) == (200, "/workers?said=working")
    assert "gpu ○ Offline has not called in yet" in text


async def test_pause_resume_and_revoke_by_forms(shared: MakeShared):
    page, _ = await shared()
    made = await invite(page, name="gpu")
    _, path, text = await send(page, f"/workers/{made['id']}/pause")
    assert path == "/workers?said=paused"
    assert "gpu ‖ Paused" in text
    _, _, text = await send(page, f"/workers/{made['id']}/resume")
    assert "gpu ○ Offline" in text
    assert "is refused at its next call, and what it has goes to others" in text
    _, path, text = await send(page, f"/workers/{made['id']}/revoke")
    assert path == "/workers?said=revoked"
    assert await call(made["url"], made["token"]) == 401
    assert (await send(page, f"/workers/{made['id']}/revoke"))[1] == "/workers?said=gone"


async def test_add_a_worker_shows_its_token_once_with_the_lines_for_every_kind(shared: MakeShared):
    page, workers = await shared(worker_settings={"worker_tls": "on"})
    status, _, text = await send(page, "/workers/add", name="games room", model="it's large")
    url, pin = workers.listener.url, workers.listener.fingerprint
    assert status == 200
    token = re.findall(r"wrk_[A-Za-z0-9_-]{43}", text)
    assert len(token) == 3
    assert len(set(token)) == 1
    for line in (
        "games room may join.",
        "pip install 'audiobook-bridge-agent[speech]' && "
        "BRIDGE_SPEECH_MODEL='it'\"'\"'s large' bridge-agent worker "
        f"--url {url} --fingerprint {pin}",
        "py -m pip install \"audiobook-bridge-agent[speech]\"; $env:BRIDGE_SPEECH_MODEL = 'it''s large'; "
        f"py -m bridge_agent worker --url '{url}' --fingerprint {pin}",
        f"-e BRIDGE_WORKER_URL={url} -e BRIDGE_WORKER_FINGERPRINT={pin}",
        f"VOICY_WORKER_API_URL={url}/worker/v1 VOICY_WORKER_TOKEN={token[0]} "
        f"VOICY_WORKER_TELEGRAM_API_URL={url} VOICY_WORKER_MODEL=it's large "
        "NODE_EXTRA_CA_CERTS=bridge-workers.pem",
        f"COORDINATOR_URL={url} WORKER_AUTH_TOKEN={token[0]} WORKER_NAME=games room "
        'CAPABILITIES=["transcribe", "transcribe:it\'s large"] SCIMESH_CA_CERT=bridge-workers.pem',
    ):
        assert line in text
    assert token[0] not in await show(page, "/workers/add")


async def test_the_form_tells_which_port_to_open_unless_only_this_machine_reaches_it(shared: MakeShared):
    told = "If this machine has a firewall, open port 13381 in it."
    page, _ = await shared()
    assert told in words_of(await show(page, "/workers"))
    page, _ = await shared(worker_listen="127.0.0.1:13381")
    assert "firewall" not in words_of(await show(page, "/workers"))


async def test_a_name_that_is_too_long_is_refused_and_never_cut(shared: MakeShared):
    page, workers = await shared()
    answer = await page.client.post("/api/workers/tokens", json={"name": "n" * 200})
    assert answer.status == 400
    said = "A worker needs a name of 1 to 128 bytes"
    assert said in (await answer.json())["error"]["message"]
    status, _, text = await send(page, "/workers/add", name="n" * 200, model="")
    assert (status, said in text) == (400, True)
    assert workers.service.workers() == []


async def test_a_failed_invitation_keeps_what_was_typed(shared: MakeShared):
    page, _ = await shared()
    await invite(page, name="gpu")
    status, _, text = await send(page, "/workers/add", name="gpu", model="tiny")
    assert (status, "A worker named “gpu” is there already." in text) == (409, True)


async def test_a_bridge_without_speech_says_what_is_missing(served: Page):
    served.house.pair()
    read = words_of(await show(served, "/workers"))
    assert "This computer – No engine" in read
    assert "Make its token" not in read


async def test_a_book_says_that_the_only_worker_gives_its_parts_back(shared: MakeShared):
    page, workers = await shared()
    made = await invite(page, name="gpu")
    pipeline = speech.FakePipeline()
    pipeline.book(f"{SERVER_ID}/5", at_work={})
    page.house.parts.speech = speech.speech(pipeline)
    page.house.job(5, "running", kind="transcribe.book")
    why = "it gives its parts back and says “No model is here.”"
    looks(workers, made["id"], "idle", reason=why)
    pipeline.executors = [speech.Somebody("this computer", 0), speech.Somebody("gpu", 1)]
    for path in ("/", f"/jobs/{SERVER_ID}/5"):
        assert f"“gpu” is of no help now: {why}" in words_of(await show(page, path))
    pipeline.executors = [speech.Somebody("this computer", 1), speech.Somebody("gpu", 1)]
    assert "of no help" not in words_of(await show(page, "/"))


async def test_nothing_that_a_worker_tells_becomes_markup(shared: MakeShared):
    page, workers = await shared()
    made = await invite(page, name=NASTY, model=NASTY)
    looks(workers, made["id"], "working", on=[(NASTY, 1)], engine=NASTY, device=NASTY)
    added = await page.client.post("/workers/add", data={"csrf": await token_of(page), "name": f"2{NASTY}"})
    for text in (await show(page, "/workers"), await added.text()):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "&lt;script&gt;" in text


async def token_of(page: Page) -> str:
    return (await show(page, "/workers")).partition('name="csrf" value="')[2].partition('"')[0]
