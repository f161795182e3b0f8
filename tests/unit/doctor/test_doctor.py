"""The doctor finds what keeps a Bridge from working, says what to do, and stumbles over nothing itself."""

import asyncio
import dataclasses
import errno
import re
import socket
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.base.clock import to_text
from bridge_agent.doctor import Finding, Probes, Running, machine, probes, run
from bridge_agent.doctor.findings import from_message
from bridge_agent.doctor.probes import Versions
from bridge_agent.link import record
from bridge_agent.link.answers import Answer
from bridge_agent.link.errors import ServerAway
from bridge_agent.link.record import Pairing
from bridge_agent.mapping import rows
from bridge_agent.mapping.sight import Sight
from bridge_agent.mapping.views import Outcome
from bridge_agent.protocol.bridge import Library
from bridge_agent.settings import Address, BridgeSettings
from bridge_agent.store import open_database
from bridge_agent.store.database import open_inline
from bridge_agent.vault import open_vault
from bridge_agent.vault.rings import RingUnusable
from bridge_agent.worker_api.opening import open_members
from tests.fakes.clock import FakeClock
from tests.fakes.server import FakeServer, answer_json, answer_redirect, answer_text, hang
from tests.unit.mapping.trees import plant

SCHEMA = "bridge_agent.store.bridge_schema"
URL = "http://nas.home:13390"


async def server_answers(url: str, ca_file: str) -> Answer:
    """Answer as a home server does."""
    if url.endswith("/healthz"):
        raise ServerAway("Nobody is there; try again.")
    headers = {"Date": "Thu, 01 Jan 2026 00:00:00 GMT"}
    return Answer(200, headers, b'{"name": "Home", "version": "1.2", "capabilities": {"bridge": true}}', url)


def gives(status: int, body: bytes, **headers: str) -> Callable[[str, str], Awaitable[Answer]]:
    async def fetch(url: str, ca_file: str) -> Answer:
        return Answer(status, headers, body, url)

    return fetch


def raises(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


WELL = Probes(
    addresses_of=lambda host, port: ["192.168.1.5"],
    fetch=server_answers,
    listen=lambda address: None,
    try_keyring=lambda: "the desktop’s keyring",
    free_bytes=lambda folder: 50 << 30,
    network_file_system=lambda folder: None,
    versions=lambda: Versions("3.12.1", (3, 51, 3), "3.13.0", "Linux 6.1"),
)


class Patient:
    """A Bridge's data folder and settings to be examined."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self.settings = BridgeSettings(data_dir=self.folder, token_store="file")
        self.clock = FakeClock()

    async def pair(self, *libraries: Library, url: str = URL) -> None:
        self.folder.mkdir(exist_ok=True)
        pairing = Pairing(url, "one", "Home", to_text(self.clock.now()), libraries)
        db = open_inline(self.folder / "bridge.sqlite3", SCHEMA)
        await db.write(lambda c: record.save(c, pairing))
        await db.close()
        await (await open_vault(self.settings, self.folder, self.clock)).keep("brg_" + "x" * 43)

    async def write(self, unit: Callable[..., None], *args: object) -> None:
        db = open_inline(self.folder / "bridge.sqlite3", SCHEMA)
        await db.write(lambda c: unit(c, *args))
        await db.close()

    async def examine(
        self, limit_s: float = 5.0, running: Running | None = None, **probes: Any
    ) -> dict[str, Finding]:
        tools = dataclasses.replace(WELL, **probes)
        found = await run(self.settings, self.clock, tools, limit_s, running)
        for finding in found:
            assert re.fullmatch(r"[a-z_]+", finding.code)
            assert finding.sentence.endswith("."), finding
            assert bool(finding.what_to_do) == (finding.level != "ok"), finding
        return {finding.code: finding for finding in found}


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def levels(found: dict[str, Finding]) -> dict[str, str]:
    return {code: finding.level for code, finding in found.items() if finding.level != "ok"}


# ---- the whole -----------------------------------------------------------------------------------------


async def test_a_machine_that_never_ran_a_bridge_has_only_pairing_before_it(patient: Patient) -> None:
    found = await patient.examine()
    assert levels(found) == {"not_paired": "warn"}
    assert {"settings_origins", "versions", "data_folder_new", "disk_ok", "port_free"} <= set(found)
    assert not patient.folder.exists()


async def test_a_paired_bridge_in_good_health_has_nothing_to_mend(patient: Patient, tmp_path: Path) -> None:
    plant(tmp_path / "books", {"A/1.mp3": 1})
    await patient.pair(Library(id=1, name="Books", root=str(tmp_path / "books")))
    found = await patient.examine()
    assert levels(found) == {}
    assert {"paired", "token_kept", "dns_ok", "server_ok", "clock_ok", "library_seen"} <= set(found)
    assert found["server_ok"].sentence == f"The server “Home” (version 1.2) answers at {URL}."
    assert found["paired"].wire() == {
        "code": "paired",
        "level": "ok",
        "sentence": f"This Bridge is paired with “Home” at {URL}.",
        "what_to_do": "",
    }


async def test_it_examines_beside_a_running_bridge_and_leaves_its_store_alone(
    patient: Patient, tmp_path: Path
) -> None:
    await patient.pair(Library(id=1, name="Books", root=str(tmp_path)))
    opened = await open_database(patient.folder / "bridge.sqlite3", SCHEMA)
    try:
        await opened.database.write(lambda c: rows.set_path(c, "one", 1, "/mapped/here"))
        found = await patient.examine(listen=raises(OSError(errno.EADDRINUSE, "in use")))
        assert "/mapped/here" in found["library_not_seen"].sentence
        await opened.database.write(lambda c: rows.clear_path(c, "one", 1))
    finally:
        await opened.database.close()


async def test_a_part_that_fails_hides_nothing_of_the_others(
    patient: Patient, caplog: pytest.LogCaptureFixture
) -> None:
    found = await patient.examine(network_file_system=raises(RuntimeError("odd")))
    assert found["part_failed"].sentence == "Looking at the data folder failed (RuntimeError)."
    assert "not_paired" in found
    assert "port_free" in found
    assert "Looking at the data folder failed" in caplog.text


async def test_a_part_that_never_ends_is_left_within_its_limit(patient: Patient) -> None:
    await patient.pair()

    async def never(url: str, ca_file: str) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    found = await patient.examine(limit_s=0.2, fetch=never)
    assert found["part_too_slow"].sentence == "Looking at the server took over 0.2 s."
    assert "paired" in found


# ---- this machine --------------------------------------------------------------------------------------


async def test_settings_tell_where_they_come_from_and_never_a_secret(patient: Patient) -> None:
    environ = {"BRIDGE_PAGE_PASSWORD": "correct horse", "BRIDGE_LOG_LEVEL": "debug"}
    patient.settings = BridgeSettings.load(environ, None, patient.folder)
    told = (await patient.examine())["settings_origins"].sentence
    assert "log_level from the environment (BRIDGE_LOG_LEVEL)" in told
    assert "page_password from the environment" in told
    assert "correct horse" not in told


async def test_an_sqlite_with_the_reset_flaw_is_noted_and_not_held_against_anyone(patient: Patient) -> None:
    old = Versions("3.11.7", (3, 40, 1), "3.13.0", "Linux")
    found = await patient.examine(versions=lambda: old)
    assert "SQLite is 3.40.1: before 3.51.3" in found["sqlite_wal_reset"].sentence
    assert "sqlite_version" in await patient.examine()


@pytest.mark.parametrize(
    ("free", "code", "level"),
    [(50 << 30, "disk_ok", "ok"), (500 << 20, "disk_low", "warn"), (1 << 20, "disk_full", "bad")],
)
async def test_disk_space(patient: Patient, free: int, code: str, level: str) -> None:
    assert (await patient.examine(free_bytes=lambda folder: free))[code].level == level


async def test_a_disk_that_can_not_be_asked_is_told(patient: Patient) -> None:
    found = await patient.examine(free_bytes=raises(OSError(errno.EIO, "Input/output error")))
    assert found["disk_unknown"].level == "warn"


async def test_a_data_folder_on_a_network_file_system_is_bad(patient: Patient) -> None:
    found = await patient.examine(network_file_system=lambda folder: "nfs4")
    assert found["data_folder_network"].level == "bad"
    assert "(nfs4)" in found["data_folder_network"].sentence


async def test_a_data_folder_that_can_not_be_written_is_bad(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.os, "access", lambda path, mode: False)
    assert (await patient.examine())["data_folder_unwritable"].level == "bad"


async def test_a_data_folder_that_does_not_answer_is_left_within_its_limit(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "LIMIT_S", 0.1)
    back = threading.Event()
    try:
        found = await patient.examine(network_file_system=lambda folder: back.wait(10))
    finally:
        back.set()
    assert found["data_folder_no_answer"].level == "bad"


async def test_secrets_that_others_can_read_are_bad(patient: Patient) -> None:
    await patient.pair()
    (patient.folder / "secrets").chmod(0o755)
    assert (await patient.examine())["secrets_open"].level == "bad"


@pytest.mark.parametrize(
    ("store", "probe", "code", "level"),
    [
        ("file", raises(RingUnusable()), "keyring_unused", "ok"),
        ("auto", lambda: "KWallet", "keyring_ok", "ok"),
        ("auto", raises(RingUnusable()), "keyring_none", "ok"),
        ("auto", raises(ValueError("1783")), "keyring_none", "ok"),
        ("keyring", raises(RingUnusable()), "keyring_none", "bad"),
    ],
)
async def test_the_keyring_is_proved_by_trying_it(
    patient: Patient, store: str, probe: Any, code: str, level: str
) -> None:
    patient.settings = dataclasses.replace(patient.settings, token_store=store)
    assert (await patient.examine(try_keyring=probe))[code].level == level


async def test_a_keyring_that_waits_for_somebody_is_left_within_its_limit(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "LIMIT_S", 0.1)
    patient.settings = dataclasses.replace(patient.settings, token_store="auto")
    back = threading.Event()
    try:
        found = await patient.examine(try_keyring=lambda: str(back.wait(10)))
    finally:
        back.set()
    assert found["keyring_no_answer"].level == "warn"


async def test_a_paired_bridge_whose_token_is_gone_is_bad(patient: Patient) -> None:
    await patient.pair()
    (patient.folder / "secrets" / "token.key").unlink()
    assert (await patient.examine())["token_gone"].level == "bad"


@pytest.mark.parametrize(
    ("number", "code", "level"),
    [
        (errno.EADDRINUSE, "port_taken", "bad"),
        (errno.EACCES, "port_refused", "bad"),
        (errno.EADDRNOTAVAIL, "address_unavailable", "bad"),
    ],
)
async def test_a_port_that_can_not_be_had_says_why(
    patient: Patient, number: int, code: str, level: str
) -> None:
    assert (await patient.examine(listen=raises(OSError(number, "no"))))[code].level == level


async def test_a_bridge_that_runs_at_the_port_is_recognised(patient: Patient) -> None:
    asked: list[str] = []

    async def fetch(url: str, ca_file: str) -> Answer:
        asked.append(url)
        return Answer(200, {}, b'{"alive": true, "paired": false, "reachable": false}', url)

    patient.settings = dataclasses.replace(patient.settings, listen=Address("0.0.0.0", 13380))
    found = await patient.examine(listen=raises(OSError(errno.EADDRINUSE, "in use")), fetch=fetch)
    assert "bridge_running" in found
    assert asked == ["http://127.0.0.1:13380/healthz"]


async def test_a_real_port_is_told_free_or_taken(patient: Patient) -> None:
    async with FakeServer() as other:
        patient.settings = dataclasses.replace(patient.settings, listen=Address("127.0.0.1", other.port))
        real = Probes()
        found = await patient.examine(listen=real.listen, fetch=real.fetch)
    assert "port_taken" in found
    assert "port_free" in await patient.examine(listen=real.listen)


async def test_a_bridge_that_runs_on_this_folder_is_told_wherever_its_page_is(patient: Patient) -> None:
    found = await patient.examine(running=Running("http://127.0.0.1:14000"))
    assert found["bridge_running"].sentence == (
        "A Bridge runs on this data folder and answers at http://127.0.0.1:14000."
    )
    assert "port_free" not in found


@pytest.mark.parametrize(
    ("error", "running", "code", "level"),
    [
        (None, None, "worker_port_free", "ok"),
        (OSError(errno.EADDRINUSE, "in use"), None, "worker_port_taken", "bad"),
        (OSError(errno.EACCES, "no"), None, "worker_port_refused", "bad"),
        (OSError(errno.EADDRNOTAVAIL, "no"), None, "worker_address_unavailable", "bad"),
        (TimeoutError(), None, "worker_port_unknown", "warn"),
        (OSError(errno.EADDRINUSE, "in use"), Running("http://x:1"), "worker_listener_on", "ok"),
        (None, Running("http://x:1", "The port is taken; choose another."), "worker_listener_off", "bad"),
    ],
)
async def test_where_workers_are_invited_their_port_is_looked_at(
    patient: Patient, error: Exception | None, running: Running | None, code: str, level: str
) -> None:
    def listen(address: Address) -> None:
        if error is not None and address == patient.settings.worker_listen:
            raise error

    await patient.pair()
    assert not [each for each in await patient.examine(listen=listen) if each.startswith("worker_")]
    members = await open_members(patient.settings, patient.clock)
    await members.tokens.add("games-room")
    await members.db.close()
    found = await patient.examine(listen=listen, running=running)
    assert found[code].level == level
    assert [each for each in found if each.startswith("worker_")] == [code]


async def test_any_port_will_do_when_the_settings_say_so(patient: Patient) -> None:
    patient.settings = dataclasses.replace(patient.settings, listen=Address("127.0.0.1", 0))
    assert "port_any" in await patient.examine(listen=raises(AssertionError()))


async def test_a_damaged_store_is_told_with_what_happens_next(patient: Patient) -> None:
    patient.folder.mkdir()
    (patient.folder / "bridge.sqlite3").write_bytes(b"no database at all" * 100)
    found = await patient.examine()
    assert found["store_unreadable"].level == "bad"
    assert "keeps a damaged file aside" in found["store_unreadable"].what_to_do


# ---- the server ----------------------------------------------------------------------------------------


async def test_before_a_pairing_the_address_of_the_settings_is_examined(patient: Patient) -> None:
    patient.settings = dataclasses.replace(patient.settings, server_url="http://nas.home:1")
    found = await patient.examine()
    assert "http://nas.home:1" in found["server_ok"].sentence


async def test_a_name_that_is_not_known_ends_the_way(patient: Patient) -> None:
    await patient.pair()
    asked: list[str] = []

    async def fetch(url: str, ca_file: str) -> Answer:
        asked.append(url)
        return await server_answers(url, ca_file)

    found = await patient.examine(addresses_of=raises(OSError(-2, "Name or service not known")), fetch=fetch)
    assert found["dns_failed"].level == "bad"
    assert "nas.home is not known here (Name or service not known)" in found["dns_failed"].sentence
    assert asked == []


async def test_an_address_needs_no_name(patient: Patient) -> None:
    await patient.pair(url="http://[fd00::5]:13390")
    assert "dns_unneeded" in await patient.examine(addresses_of=raises(AssertionError()))


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("unreachable", "server_unreachable"),
        ("tls_untrusted", "tls_untrusted"),
        ("not_a_server", "not_a_server"),
    ],
)
async def test_a_call_that_fails_keeps_the_links_words(patient: Patient, kind: Any, code: str) -> None:
    await patient.pair()
    found = await patient.examine(fetch=raises(ServerAway("It can’t be; do something.", kind=kind)))
    assert found[code] == Finding(code, "bad", "It can’t be.", "Do something.")


@pytest.mark.parametrize(
    ("fetch", "code", "level"),
    [
        (gives(302, b"", Location="http://portal/login"), "redirected", "bad"),
        (gives(200, b"<html>Log in</html>"), "not_a_server", "bad"),
        (gives(404, b"{}"), "not_a_server", "bad"),
        (gives(200, b'{"hello": 1}'), "not_a_server", "bad"),
        (gives(500, b""), "server_error", "bad"),
        (gives(503, b""), "busy", "warn"),
    ],
)
async def test_answers_that_are_not_the_servers(patient: Patient, fetch: Any, code: str, level: str) -> None:
    await patient.pair()
    assert (await patient.examine(fetch=fetch))[code].level == level


@pytest.mark.parametrize(
    ("shift", "code", "level", "said"),
    [
        (30, "clock_ok", "ok", "agree"),
        (90, "clock_skew", "warn", "90 s ahead of"),
        (-900, "clock_skew", "warn", "15 min behind"),
        (-5 * 86400, "clock_skew", "bad", "5 days behind"),
    ],
)
async def test_the_clocks_are_compared(
    patient: Patient, shift: float, code: str, level: str, said: str
) -> None:
    await patient.pair()
    patient.clock.set_wall(shift)
    finding = (await patient.examine())[code]
    assert finding.level == level
    assert said in finding.sentence


async def test_plain_http_out_of_the_house_is_warned_of_and_at_home_is_not(patient: Patient) -> None:
    await patient.pair()
    assert "plain_http_at_home" in await patient.examine()
    found = await patient.examine(addresses_of=lambda host, port: ["8.8.8.8"])
    assert found["plain_http"].level == "warn"


async def test_over_real_sockets_a_self_signed_certificate_is_told(patient: Patient) -> None:
    async with FakeServer(tls=True) as server:
        await patient.pair(url=server.url)
        found = await patient.examine(fetch=Probes().fetch)
    assert found["tls_untrusted"].level == "bad"
    assert "http://" in found["tls_untrusted"].what_to_do
    assert server.calls == []


async def test_over_real_sockets_answers_and_silence_are_told(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Probes().fetch
    async with FakeServer(date="Thu, 01 Jan 2026 00:00:00 GMT") as server:
        await patient.pair(url=server.url)
        server.always("other", answer_json(200, {"name": "Home", "version": "1", "capabilities": {}}))
        assert levels(await patient.examine(fetch=real)) == {"no_libraries": "warn"}
        server.always("other", answer_redirect("http://elsewhere.example/"))
        assert "elsewhere.example" in (await patient.examine(fetch=real))["redirected"].sentence
        server.always("other", answer_text(200, "<html>hotel</html>"))
        assert "not_a_server" in await patient.examine(fetch=real)
        server.always("other", hang())
        monkeypatch.setattr("bridge_agent.doctor.probes.FETCH_S", 0.1)
        assert "no answer in time" in (await patient.examine(fetch=real))["server_unreachable"].sentence
    assert {call.path for call in server.calls} == {"/api/v1/server"}
    assert all("Authorization" not in call.headers for call in server.calls)


# ---- the libraries ---------------------------------------------------------------------------------------


async def test_each_library_is_looked_at_where_this_machine_should_see_it(
    patient: Patient, tmp_path: Path
) -> None:
    plant(tmp_path / "media/Audiobooks", {"A/1.mp3": 1})
    await patient.pair(
        Library(id=1, name="Books", root="/srv/books"),
        Library(id=2, name="Kids", root=str(tmp_path / "media")),
    )
    await patient.write(rows.set_path, "one", 1, str(tmp_path / "media/audiobook"))
    found = await patient.examine()
    assert (
        found["library_seen"].sentence == f"The library “Kids” is {tmp_path / 'media'} here and can be read."
    )
    missing = found["library_not_seen"]
    assert missing.level == "bad"
    assert missing.sentence.startswith("This machine does not see “Books”: there is no folder ")
    assert missing.what_to_do.startswith(f"Did you mean {tmp_path / 'media/Audiobooks'}? Connect the drive")


@pytest.mark.parametrize(
    ("sight", "code", "level"),
    [
        (Sight(Path("/b"), True, False), "library_read_only", "ok"),
        (Sight(Path("/b"), False, False), "library_unreadable", "bad"),
        (Sight(Path("/b"), why="the folder /b did not answer within 5 s"), "library_not_seen", "bad"),
        (Sight(Path("/b"), why="there is no folder /b", deepest_existing="/"), "library_not_seen", "bad"),
    ],
)
async def test_what_is_seen_of_a_library_is_told(
    patient: Patient, sight: Sight, code: str, level: str
) -> None:
    await patient.pair(Library(id=1, name="Books", root="/b"))

    async def look(path: Path) -> Sight:
        return sight

    assert (await patient.examine(look=look))[code].level == level


async def test_a_library_whose_last_check_found_differences_is_told(patient: Patient, tmp_path: Path) -> None:
    plant(tmp_path / "books", {"A/1.mp3": 1})
    await patient.pair(Library(id=1, name="Books", root=str(tmp_path / "books")))
    outcome = Outcome(
        library_id=1,
        path=str(tmp_path / "books"),
        ok=False,
        readable=True,
        writable=True,
        checked_at=to_text(patient.clock.now()),
        files_checked=2,
        files_matched=1,
        error="1 of 2 files match here; scan the library.",
    )
    await patient.write(rows.keep_outcome, "one", outcome)
    finding = (await patient.examine())["library_differs"]
    assert (finding.level, finding.what_to_do) == ("warn", "Scan the library.")


def test_a_message_is_parted_where_what_to_do_begins() -> None:
    assert from_message("a", "bad", "No. Do this; do that.") == Finding(
        "a", "bad", "No.", "Do this; do that."
    )
    assert from_message("a", "bad", "It broke; mend it.") == Finding("a", "bad", "It broke.", "Mend it.")
    assert from_message("a", "bad", "It broke.") == Finding("a", "bad", "It broke.", "")


# ---- a cluster -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "why", "code", "sentence"),
    [
        (3, None, "cluster_ok", "The cluster at tcp://nas:8786 answers and hears 3 parts at once."),
        (0, "The scheduler does not answer; start it.", "cluster_away", "The scheduler does not answer."),
    ],
)
async def test_a_cluster_of_the_settings_is_looked_at(
    patient: Patient, places: int, why: str | None, code: str, sentence: str
) -> None:
    async def asked(address: str) -> tuple[int, str | None]:
        assert address == "tcp://nas:8786"
        return places, why

    assert not any(each.startswith("cluster") for each in await patient.examine(cluster=asked))
    patient.settings = dataclasses.replace(patient.settings, cluster="tcp://nas:8786")
    found = (await patient.examine(cluster=asked))[code]
    assert found.sentence == sentence


async def test_a_cluster_that_is_not_there_is_told_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "CLUSTER_S", 0.5)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        places, why = await probes.cluster(f"tcp://127.0.0.1:{nobody.getsockname()[1]}")
    assert places == 0
    assert "does not answer; start it" in (why or "")
