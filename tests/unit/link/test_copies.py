"""A copied data folder: told from a moved, a restored and a container's one; runs nothing until paired."""

import shutil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.link import copies, words
from bridge_agent.link.copies import Fingerprint
from tests.fakes.server import CODE, SERVER_ID, answer_error, until
from tests.unit.link.rig import Rig

paths, inodes, machines = st.sampled_from("ab"), st.sampled_from([1, 2]), st.sampled_from([None, "m", "n"])
prints = st.builds(Fingerprint, path=paths, inode=inodes, machine=machines)


@given(prints, prints)
def test_a_copy_differs_in_its_inode_and_in_path_or_machine(noted, now):
    elsewhere = noted.path != now.path or noted.machine != now.machine
    assert noted.copied_to(now) is (noted.inode != now.inode and elsewhere)


def test_a_folder_that_moved_or_was_copied_is_told_apart(tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    assert copies.is_copy(first, "m") is False
    moved = first.rename(tmp_path / "moved")
    assert copies.is_copy(moved, "m") is False
    copied = tmp_path / "copied"
    shutil.copytree(moved, copied)
    assert copies.is_copy(copied, "m") is True
    copies.claim(copied, "m")
    assert copies.is_copy(copied, "m") is False


def test_a_folder_restored_in_place_is_the_same_one(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    assert copies.is_copy(folder, "m") is False
    shutil.copytree(folder, tmp_path / "backup")
    shutil.rmtree(folder)
    (tmp_path / "filler").touch()
    shutil.copytree(tmp_path / "backup", folder)
    assert copies.is_copy(folder, "m") is False


def test_a_damaged_fingerprint_is_noted_anew(tmp_path):
    copies.claim(tmp_path, None)
    (tmp_path / "folder.json").write_bytes(b"{")
    assert copies.is_copy(tmp_path, None) is False
    assert msgspec.json.decode((tmp_path / "folder.json").read_bytes())["path"] == str(tmp_path.resolve())


def test_the_machines_id_is_never_kept_as_it_is(monkeypatch):
    monkeypatch.setattr(copies, "_unix_id", lambda: "0123456789abcdef")
    monkeypatch.setattr(copies, "_windows_id", lambda: "0123456789abcdef")
    assert len(copies.machine_id()) == 64
    assert "0123456789abcdef" not in copies.machine_id()
    monkeypatch.setattr(copies, "_unix_id", lambda: "")
    monkeypatch.setattr(copies, "_windows_id", lambda: "")
    assert copies.machine_id() is None


async def copied(rig: Rig, rigs, **settings) -> Rig:
    """Copy a stopped rig's folder and start a Bridge in the copy."""
    await rig.stop()
    shutil.copytree(rig.folder, rig.folder.with_name("copy"))
    return await rigs(rig.clock, "copy", **settings).start()


async def test_a_copy_calls_nobody_and_says_why(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    before = len(server.calls)
    copy = await copied(rig, rigs)
    assert (copy.link.state, copy.link.reason) == ("unpaired", words.COPIED)
    assert "copy of another Bridge" in copy.link.reason
    copy.link.beat_now()
    await clock.advance(1000)
    assert len(server.calls) == before
    assert not copy.link.ready.is_set()


async def test_a_copy_that_is_paired_itself_is_a_bridge_of_its_own_from_then_on(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    copy = await copied(rig, rigs)
    server.code = CODE
    await copy.link.pair(server.url, CODE)
    await until(lambda: copy.link.online)
    await copy.stop()
    again = await rigs(clock, "copy").start()
    await until(lambda: again.link.online)
    assert len(server.of("pair")) == 2


async def test_unpairing_a_copy_leaves_the_original_as_it_is(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    copy = await copied(rig, rigs)
    await copy.link.unpair()
    assert copy.link.reason == words.UNPAIRED_HERE
    original = await rigs(clock).start()
    await until(lambda: original.link.online)


async def test_a_server_that_calls_it_a_copy_ends_all_calls_until_it_is_paired_anew(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    server.script("status", answer_error(409, "copied", "Another Bridge runs with this token."))
    assert await rig.link.beaten() is False
    assert (rig.link.state, rig.link.reason) == ("refused", words.COPIED_SAYS_SERVER)
    assert rig.link.next_try_at is None
    assert rig.ear.heard[-1] == "down refused"
    before = len(server.calls)
    await clock.advance(1000)
    assert len(server.calls) == before
    await rig.link.unpair()
    await rig.pair(server)
    assert rig.ear.heard[-1] == f"ready {SERVER_ID}"


@pytest.mark.parametrize("broken", ["machine_id", "is_copy"])
async def test_what_cannot_be_told_is_no_copy(server, rigs, clock, monkeypatch, broken):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await rig.stop()

    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(copies, broken, fails)
    again = await rigs(clock).start()
    await until(lambda: again.link.online)
