"""Serving for real: two schemes on one port, streams that resume and end at once, bodies, links."""

import asyncio
import ssl

import aiohttp
import jinja2
import msgspec
import pytest
from aiohttp import web

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.errors import BridgeError
from bridge_agent.settings import Address
from bridge_agent.store.database import StoreFull
from bridge_agent.web import rendering
from bridge_agent.web.bodies import id_in_path, int_query, read_json
from bridge_agent.web.errors import as_api_error, json_errors, json_response
from bridge_agent.web.events import EventHub
from bridge_agent.web.listen import Listener, PortTaken
from bridge_agent.web.security import security_headers
from tests.fakes.tls import server_context

LOCAL = Address("127.0.0.1", 0)


class Thing(msgspec.Struct):
    name: str
    count: int = 0


async def scheme(request: web.Request) -> web.Response:
    return json_response({"scheme": request.scheme})


async def take(request: web.Request) -> web.Response:
    thing = await read_json(request, Thing, most=100)
    return json_response({"name": thing.name, "limit": int_query(request, "limit", 50, 1, 200)})


async def one(request: web.Request) -> web.Response:
    return json_response({"id": id_in_path(request)})


async def broken(request: web.Request) -> web.Response:
    raise RuntimeError("secret inside")


def application() -> web.Application:
    app = web.Application(middlewares=[security_headers, json_errors("/api")])
    app.router.add_get("/api/scheme", scheme)
    app.router.add_post("/api/things", take)
    app.router.add_get("/api/things/{id}", one)
    app.router.add_get("/api/broken", broken)
    return app


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def listener():
    listener = Listener(application(), LOCAL, "TEST_LISTEN")
    await listener.start()
    yield listener
    await listener.stop()


@pytest.mark.requirement("R-021")
async def test_http_and_https_answer_on_the_one_port(http, tmp_path):
    listener = Listener(application(), LOCAL, "TEST_LISTEN")
    await listener.start(server_context(tmp_path))
    trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    async with http.get(f"http://127.0.0.1:{listener.port}/api/scheme") as plain:
        assert (await plain.json())["scheme"] == "http"
    async with http.get(f"https://127.0.0.1:{listener.port}/api/scheme", ssl=trusting) as secure:
        assert (await secure.json())["scheme"] == "https"
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    await listener.stop()
    assert await reader.read() == b""
    writer.close()


async def test_a_taken_port_is_a_sentence_with_the_setting(listener):
    second = Listener(application(), Address("127.0.0.1", listener.port), "TEST_LISTEN")
    with pytest.raises(PortTaken, match="TEST_LISTEN to another port"):
        await second.start()


async def test_an_address_that_is_not_this_machines_is_a_sentence_with_the_setting():
    # TEST-NET-1 belongs to no machine.
    elsewhere = Listener(application(), Address("192.0.2.1", 13380), "TEST_LISTEN")
    with pytest.raises(BridgeError, match="no address 192.0.2.1:13380 .*set TEST_LISTEN to one of its own"):
        await elsewhere.start()


@pytest.mark.parametrize(
    ("body", "kind", "status", "word"),
    [
        (b'{"name":"a"}', "application/json", 200, "a"),
        (b'{"name":"a","new":1}', "application/json", 200, "a"),
        (b'{"name":1}', "application/json", 400, "name"),
        (b"{", "application/json", 400, "JSON"),
        (b"", None, 400, "name"),
        (b"name=a", "application/x-www-form-urlencoded", 415, "application/json"),
        (b'{"name":"a"}', "text/plain", 415, "application/json"),
        (b'{"name":"' + b"a" * 200 + b'"}', "application/json", 413, "larger"),
    ],
)
async def test_bodies(http, listener, body, kind, status, word):
    headers = {"Content-Type": kind} if kind else {}
    url = f"http://127.0.0.1:{listener.port}/api/things"
    async with http.post(url, data=body or None, headers=headers) as response:
        assert response.status == status
        assert word in await response.text()
        assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "status"),
    [("/api/nothing", 404), ("/api/things/0", 404), ("/api/things/x", 404), ("/api/broken", 500)],
)
async def test_every_failure_has_the_one_shape_and_says_nothing_of_its_inside(http, listener, path, status):
    async with http.get(f"http://127.0.0.1:{listener.port}{path}") as response:
        assert response.status == status
        error = (await response.json())["error"]
        assert error["code"]
        assert "secret" not in error["message"]


async def read_events(response: aiohttp.ClientResponse, count: int) -> list[dict[str, str]]:
    events: list[dict[str, str]] = []
    event: dict[str, str] = {}
    while len(events) < count:
        line = (await response.content.readline()).decode().rstrip("\n")
        name, _, value = line.partition(": ")
        if not line:
            if "event" in event:
                events.append(event)
            event = {}
        elif name:
            event[name] = value
    return events


@pytest.fixture
async def hub_site():
    hub = EventHub(SystemClock())

    async def stream(request: web.Request) -> web.StreamResponse:
        return await hub.stream(request, lambda: [("status", {"all": True})])

    async def closing(app: web.Application) -> None:
        hub.close()

    app = web.Application()
    app.router.add_get("/events", stream)
    app.on_shutdown.append(closing)
    listener = Listener(app, LOCAL, "TEST_LISTEN")
    await listener.start()
    yield hub, listener, f"http://127.0.0.1:{listener.port}/events"
    await listener.stop()


async def test_a_stream_greets_then_tells_and_resumes_where_it_was(http, hub_site):
    hub, _, url = hub_site
    async with http.get(url) as response:
        assert (await read_events(response, 1))[0]["event"] == "status"
        hub.publish("job", {"n": 1})
        seen = (await read_events(response, 1))[0]
        assert (seen["event"], seen["data"]) == ("job", '{"n":1}')
    hub.publish("job", {"n": 2})
    async with http.get(url, headers={"Last-Event-ID": seen["id"]}) as response:
        assert (await read_events(response, 1))[0]["data"] == '{"n":2}'
    async with http.get(url, headers={"Last-Event-ID": "other-1"}) as response:
        assert (await read_events(response, 1))[0]["event"] == "status"


async def test_a_reader_that_missed_too_much_gets_the_whole_state(http, hub_site):
    hub, _, url = hub_site
    hub.publish("job", {"n": 0})
    async with http.get(url) as response:
        first = (await read_events(response, 1))[0]["id"]
    for number in range(400):
        hub.publish("job", {"n": number})
    async with http.get(url, headers={"Last-Event-ID": first}) as response:
        assert (await read_events(response, 1))[0]["event"] == "status"


async def test_open_streams_end_at_once_at_the_stop(http, hub_site):
    hub, listener, url = hub_site
    responses = [await http.get(url) for _ in range(5)]
    for response in responses:
        await read_events(response, 1)
    assert hub.listeners == 5
    started = asyncio.get_running_loop().time()
    await listener.stop()
    assert asyncio.get_running_loop().time() - started < 1.0
    assert hub.listeners == 0
    for response in responses:
        response.close()


def test_sizes_and_spans_as_a_person_says_them():
    assert [rendering.filesize(n) for n in (0, 999, 1500, 912_345_678)] == [
        "0 bytes",
        "999 bytes",
        "1.5 KB",
        "912.3 MB",
    ]
    assert [rendering.span(n) for n in (0.0004, 0.006, 0.41, 9, 59, 250, 7500)] == [
        "1 ms",
        "6 ms",
        "0.4 s",
        "9 s",
        "59 s",
        "4 min 10",
        "2 h 05",
    ]


async def test_templates_escape_and_links_climb_to_the_root(http, tmp_path, monkeypatch):
    monkeypatch.setattr(rendering.resources, "folder", lambda name: tmp_path / name)
    for folder in ("templates/page", "templates/shared", "static"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "static" / "a.css").write_text("a{}")
    (tmp_path / "templates/page/x.html").write_text("{{ root }}|{{ stamp('a.css') }}|{{ name }}")
    app = web.Application()
    environment = rendering.set_up(app, "page")
    assert environment.undefined is jinja2.StrictUndefined

    async def page(request: web.Request) -> web.Response:
        return rendering.render(request, "x.html", {"name": "<script>"})

    app.router.add_get("/a/b/c", page)
    listener = Listener(app, LOCAL, "X")
    await listener.start()
    async with http.get(f"http://127.0.0.1:{listener.port}/a/b/c") as response:
        root, stamp, name = (await response.text()).split("|")
    await listener.stop()
    assert root == "../.."
    assert stamp.startswith("static/a.css?v=")
    assert name == "&lt;script&gt;"


def test_a_full_disk_is_told_in_the_log_of_its_own_machine(caplog):
    answer = as_api_error(StoreFull(), "PUT /bridge/status")
    assert (answer.status, answer.code) == (503, "store_full")
    assert caplog.messages == [f"PUT /bridge/status failed: {StoreFull().message}"]
