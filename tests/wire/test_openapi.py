"""The OpenAPI document, against what runs: each route is documented, each that is documented answers."""

import json
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from bridge_agent.page import app as page
from bridge_agent.protocol.bridge import API
from bridge_agent.settings import Address, BridgeSettings
from bridge_agent.store.database import open_inline
from bridge_agent.web.listen import Listener
from bridge_agent.worker_api.openapi.coordinator import COORDINATOR
from bridge_agent.worker_api.openapi.document import document
from bridge_agent.worker_api.openapi.operations import Operation, Wire
from bridge_agent.worker_api.openapi.page import PAGE
from bridge_agent.worker_api.openapi.server import BRIDGE, SERVER
from bridge_agent.worker_api.openapi.worker_v1 import WORKER_V1
from bridge_agent.worker_api.transcription_v1.addresses import Addresses
from bridge_agent.worker_api.transcription_v1.wire import Wire as WorkerWire
from tests.fakes.clock import FakeClock
from tests.fakes.rooms import household
from tests.wire.coordinator_rig import NOBODY, CoordinatorRig, serving
from tests.wire.server_rig import Rig

Route = tuple[str, str]

_PATTERN = re.compile(r"\{(\w+):[^{}]*(?:\{[^{}]*\})*[^{}]*\}")


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[CoordinatorRig]:
    async with serving(tmp_path, clock) as rig:
        yield rig


def running(app: web.Application) -> set[Route]:
    """Return an application's routes, patterns of their parts left out."""
    found = set()
    for route in app.router.routes():
        path = route.resource.canonical if route.resource is not None else ""
        if route.method not in ("HEAD", "*"):
            found.add((route.method, _PATTERN.sub(r"{\1}", path)))
    return found


def documented(*wires: Wire) -> set[Route]:
    return {(operation.method, operation.path) for wire in wires for operation in wire.operations}


def under(routes: Iterable[Route], *prefixes: str) -> set[Route]:
    return {(method, path) for method, path in routes if path.startswith(prefixes)}


# ---- the document itself


async def test_the_document_is_served_to_everybody_and_holds_together(rig: CoordinatorRig) -> None:
    answer = await rig.caller(None).get("/openapi.json")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    found = answer.body
    assert found == json.loads(json.dumps(document()))
    assert found["openapi"].startswith("3.1")
    assert {tag["name"] for tag in found["tags"]} == {"coordinator", "worker/v1", "server", "bridge", "page"}
    assert "wrk_" not in answer.raw.decode().replace("`wrk_…`", "")


def test_every_reference_leads_somewhere_and_every_name_is_there_once() -> None:
    found = document()
    text = json.dumps(found)
    for name in re.findall(r'"#/components/schemas/(\w+)"', text):
        assert name in found["components"]["schemas"], name
    operations = [
        (path, method, operation)
        for path, item in found["paths"].items()
        for method, operation in item.items()
        if method != "servers"
    ]
    ids = [operation["operationId"] for _, _, operation in operations]
    assert len(ids) == len(set(ids))
    for path, method, operation in operations:
        declared = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
        assert declared == set(re.findall(r"\{(\w+)\}", path)), path
        assert operation["responses"], (method, path)
        for security in operation["security"]:
            assert set(security) <= set(found["components"]["securitySchemes"])


# ---- every route is documented, and nothing else is


async def test_the_coordinators_routes_are_those_of_the_document(rig: CoordinatorRig) -> None:
    assert running(rig.app) == documented(COORDINATOR)


async def test_the_other_wires_routes_are_those_of_the_document(rig: CoordinatorRig) -> None:
    wire = WorkerWire(rig.work.service, rig.gate, rig.clock, 900.0, Addresses(b"k" * 32))
    root = "/worker/v1/jobs"
    found = {("POST", f"{root}/{name}") for name in wire._claims}
    found |= {("POST", f"{root}/{{id}}/{name}") for name in wire._posts}
    found |= {("GET", f"{root}/{{id}}/{name}".rstrip("/")) for name in wire._gets}
    found.add(("GET", "/worker/v1/audio/{name}"))
    assert found == documented(WORKER_V1)


async def test_the_servers_routes_are_those_of_the_document(house: Rig) -> None:
    app = house.home.build_application()
    assert under(running(app), API + "/") == documented(SERVER, BRIDGE)


async def test_the_pages_routes_are_those_of_the_document(tmp_path: Path, clock: FakeClock) -> None:
    app = a_page(tmp_path, clock)
    assert under(running(app), "/api/", "/healthz", "/metrics") == documented(PAGE)


def a_page(folder: Path, clock: FakeClock) -> web.Application:
    db = open_inline(folder / "bridge.sqlite3", "bridge_agent.store.bridge_schema")
    return page.build(household(BridgeSettings(data_dir=folder), db, clock).parts)


# ---- every documented route answers as documented


def filled(operation: Operation) -> str:
    """Return an operation's path with something in it."""
    return (
        re.sub(r"\{\w*id\}", NOBODY if operation in COORDINATOR.operations else "1", operation.path)
        .replace("{filename}", "r")
        .replace("{name}", "x")
        .replace("{path}", "x")
    )


def statuses(operation: Operation) -> set[int]:
    """Return the statuses that a path's method is documented with."""
    made = document()["paths"][operation.path][operation.method.lower()]
    return {int(status) for status in made["responses"]}


async def test_each_documented_route_of_the_coordinator_answers(rig: CoordinatorRig) -> None:
    for operation in COORDINATOR.operations:
        for caller in (await rig.worker(operation.summary), rig.caller(None)):
            answer = await caller.call(operation.method, filled(operation), {} if operation.takes else None)
            assert answer.status in statuses(operation), operation
            assert answer.raw not in (b"404 page not found\n", b"Method Not Allowed\n")
            if answer.status >= 400:
                assert answer.error[0] == answer.status


async def test_each_documented_route_of_the_other_wire_answers(rig: CoordinatorRig) -> None:
    for operation in WORKER_V1.operations:
        for caller in (await rig.invited(operation.summary), rig.caller(None)):
            answer = await caller.call(operation.method, filled(operation), {} if operation.takes else None)
            assert answer.status in statuses(operation), operation
            assert answer.body is None or answer.body["error"] != "not_found" or operation.open


async def test_each_documented_route_of_the_server_answers(house: Rig) -> None:
    for operation in (*SERVER.operations, *BRIDGE.operations):
        for token in (house.admin.token, None):
            # What ends the session comes last of all.
            if token and operation.path.endswith(("/logout", "/sign-out")):
                continue
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            async with house.http.request(
                operation.method,
                house.home.url + filled(operation),
                json={} if operation.takes else None,
                headers=headers,
            ) as answer:
                assert answer.status in statuses(operation), (operation, await answer.text())
    for path in ("/auth/logout", "/auth/sign-out"):
        admin = await house.sign_in()
        assert (await admin.post(path, {})).status in (200, 204)


async def test_each_documented_route_of_the_page_answers(tmp_path: Path, clock: FakeClock) -> None:
    listener = Listener(a_page(tmp_path, clock), Address("127.0.0.1", 0), "TEST")
    await listener.start()
    try:
        async with aiohttp.ClientSession() as http:
            for operation in PAGE.operations:
                url = f"http://127.0.0.1:{listener.port}{filled(operation)}"
                body = {} if operation.takes else None
                async with http.request(operation.method, url, json=body) as answer:
                    # Its rooms are not open, which a page says with a 503 everywhere.
                    assert answer.status in statuses(operation) | {503}, (operation, await answer.text())
    finally:
        await listener.stop()
