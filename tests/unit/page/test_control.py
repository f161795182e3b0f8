"""How the command line finds a running Bridge."""

import stat
import sys
from pathlib import Path

import pytest

from bridge_agent.page import control
from bridge_agent.settings import Address
from tests.unit.page.conftest import Page


def test_nothing_runs_where_nothing_is_written(tmp_path: Path):
    assert control.find(tmp_path) is None


def test_what_is_announced_is_found_until_it_is_withdrawn(tmp_path: Path):
    token = control.announce(tmp_path, Address("127.0.0.1", 0), 4321)
    assert control.find(tmp_path) == control.Control("http://127.0.0.1:4321", token)
    assert control.announce(tmp_path, Address("127.0.0.1", 0), 4321) != token
    control.withdraw(tmp_path)
    control.withdraw(tmp_path)
    assert control.find(tmp_path) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_both_files_are_for_their_owner_alone(tmp_path: Path):
    control.announce(tmp_path, Address("127.0.0.1", 0), 1)
    for name in (control.TOKEN_FILE, control.ADDRESS_FILE):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:9"),
        ("::", "http://[::1]:9"),
        ("::1", "http://[::1]:9"),
        ("192.168.1.5", "http://192.168.1.5:9"),
        ("localhost", "http://localhost:9"),
    ],
)
def test_the_address_is_one_that_this_machine_reaches(host: str, url: str):
    assert control.local_url(Address(host, 0), 9) == url


@pytest.mark.parametrize("content", ["", "{", "[]", '{"port": 1}', "null"])
def test_a_damaged_note_counts_as_none(tmp_path: Path, content: str):
    control.announce(tmp_path, Address("127.0.0.1", 0), 1)
    (tmp_path / control.ADDRESS_FILE).write_text(content, encoding="utf-8")
    assert control.find(tmp_path) is None


async def test_an_opened_page_has_announced_itself_and_a_closed_one_is_gone(served: Page):
    folder = served.house.parts.settings.data_dir
    found = control.find(folder)
    assert found is not None
    assert found.token == served.token
    assert found.url == f"http://127.0.0.1:{served.client.port}"
    await served.client.close()
    assert control.find(folder) is None
