"""The first start, later ones, and what is open to everybody."""

import asyncio
from pathlib import Path

import pytest

from bridge_agent.base.errors import SettingsError
from bridge_agent.home.app import HomeServer
from bridge_agent.settings import Address, HomeSettings
from bridge_agent.store.lock import FolderInUse
from bridge_agent.web.listen import PortTaken
from tests.fakes.clock import FakeClock
from tests.wire.server_rig import Rig, serving


def settings(folder: Path, **more) -> HomeSettings:
    return HomeSettings(**{"data_dir": folder, "listen": Address("127.0.0.1", 0), **more})


async def test_a_password_that_nobody_set_is_said_once_and_never_logged(
    tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("DEBUG")
    said: list[str] = []
    for _ in range(2):
        home = HomeServer(settings(tmp_path), clock, said.append)
        await home.start()
        await home.stop()
    assert len(said) == 1
    password = said[0].split("password:")[1].split()[0]
    assert len(password) == 19
    assert password not in caplog.text
    home = HomeServer(settings(tmp_path), clock, said.append)
    await home.start()
    assert (await home.users.check("admin", password)) is not None
    await home.stop()


async def test_the_admins_password_of_the_settings_counts_at_the_first_start_alone(
    tmp_path: Path, clock: FakeClock
):
    for password in ("first", "second"):
        home = HomeServer(settings(tmp_path, admin_password=password), clock, lambda _: None)
        await home.start()
        assert (await home.users.check("admin", "first")) is not None
        await home.stop()


async def test_a_folder_in_use_a_port_in_use_and_a_bad_certificate_are_told_and_leave_nothing_open(
    tmp_path: Path, clock: FakeClock
):
    first = HomeServer(settings(tmp_path / "a", admin_password="x"), clock)
    await first.start()
    second = HomeServer(settings(tmp_path / "a"), clock)
    with pytest.raises(FolderInUse):
        await second.start()
    await second.stop()
    taken = Address("127.0.0.1", first.port)
    third = HomeServer(settings(tmp_path / "b", admin_password="x", listen=taken), clock)
    with pytest.raises(PortTaken, match="BRIDGE_HOME_LISTEN"):
        await third.start()
    await third.stop()
    fourth = HomeServer(settings(tmp_path / "c", tls="no.pem;no.key"), clock)
    with pytest.raises(SettingsError, match="BRIDGE_HOME_TLS"):
        await fourth.start()
    await fourth.stop()
    await first.stop()
    again = HomeServer(settings(tmp_path / "a"), clock)
    await again.start()
    assert again.healthy()
    await again.stop()
    await again.stop()


@pytest.mark.requirement("R-042")
async def test_anybody_may_ask_who_the_server_is(house: Rig):
    server = await house.nobody.get("/server")
    assert server.status == 200
    assert server["name"] == "Home"
    assert server["capabilities"] == {"bridge": False}
    assert set(server.body) == {"name", "version", "capabilities"}


async def test_health_is_the_stores_and_the_loops(house: Rig):
    url = f"{house.home.url}/healthz"
    async with house.http.get(url) as answer:
        assert (answer.status, await answer.json()) == (200, {"alive": True})
    house.home.loops.broke("leases", "ended")
    async with house.http.get(url) as answer:
        assert answer.status == 503


async def test_answers_carry_the_security_headers(house: Rig):
    for path in ("/server", "/nowhere", "/admin/bridge"):
        answer = await house.nobody.get(path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


async def test_a_certificate_of_its_own_is_made_anew_before_it_ends(tmp_path: Path, clock: FakeClock):
    certificate = tmp_path / "home" / "tls" / "certificate.pem"
    async with serving(tmp_path, clock, books=0, tls="self-signed"):
        first = certificate.read_bytes()
    await clock.advance(800 * 86_400)
    async with serving(tmp_path, clock, books=0, tls="self-signed"):
        assert certificate.read_bytes() != first


async def test_a_start_that_can_t_serve_does_not_print_the_password(tmp_path: Path, clock: FakeClock):
    taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    there = Address("127.0.0.1", taken.sockets[0].getsockname()[1])
    said: list[str] = []
    home = HomeServer(settings(tmp_path, listen=there), clock, said.append)
    with pytest.raises(PortTaken, match="BRIDGE_HOME_LISTEN"):
        await home.start()
    await home.stop()
    assert said == []
    taken.close()
    await taken.wait_closed()
    home = HomeServer(settings(tmp_path, listen=there), clock, said.append)
    await home.start()
    await home.stop()
    assert len(said) == 1
