"""The vault: sealed wherever it is, never lost because a keyring is late, gone when forgotten."""

import json
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from bridge_agent.base import threads
from bridge_agent.base.backoff import token as new_token
from bridge_agent.base.threads import ThreadCalls
from bridge_agent.settings import BridgeSettings
from bridge_agent.vault import TokenNotKept, Vault, VaultNotReady, open_vault
from bridge_agent.vault import vault as vault_module
from tests.unit.vault.rings import NAME, FakeRing, FakeRings


@pytest.fixture
def ring():
    ring = FakeRing()
    yield ring
    ring.release.set()


@pytest.fixture
def system(ring):
    return FakeRings(ring)


@pytest.fixture
def make(tmp_path, clock, system, monkeypatch):
    """Make vaults over one data folder, with a thread pool of the test's own."""
    monkeypatch.setattr(threads, "secrets", ThreadCalls("secrets", most_stuck=2))

    def make(store: str = "auto", limit: float = 5.0) -> Vault:
        return Vault(store, tmp_path, clock, system, limit)

    return make


@pytest.fixture
def token():
    return new_token("brg_")


def everything_below(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


# ---- the file store


@pytest.mark.requirement("R-012")
async def test_the_file_store_keeps_it_sealed_and_private(make, token, tmp_path, caplog):
    caplog.set_level("DEBUG")
    vault = make("file")
    assert await vault.load() is None
    await vault.keep(token)
    assert await make("file").load() == token
    files = sorted(path.name for path in (tmp_path / "secrets").iterdir())
    assert files == ["token.key", "token.sealed"]
    assert token.encode() not in everything_below(tmp_path)
    assert token[4:].encode() not in everything_below(tmp_path)
    assert token not in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has access lists instead of mode bits")
@pytest.mark.requirement("R-012")
async def test_permission_bits_are_the_owners_alone_and_mended_when_a_copy_widened_them(
    make, token, tmp_path
):
    await make("file").keep(token)
    secrets = tmp_path / "secrets"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    for path in secrets.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
    assert await make("file").load() == token
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets.iterdir()} == {0o600}


async def test_a_key_that_does_not_fit_reads_as_gone_and_pairing_again_works(make, token, tmp_path):
    await make("file").keep(token)
    (tmp_path / "secrets" / "token.key").write_bytes(os.urandom(32))
    assert await make("file").load() is None
    await make("file").keep(token)
    assert await make("file").load() == token


@pytest.mark.parametrize("name", ["token.key", "token.sealed"])
async def test_a_missing_half_reads_as_gone(make, token, tmp_path, name):
    await make("file").keep(token)
    (tmp_path / "secrets" / name).unlink()
    assert await make("file").load() is None


async def test_a_disk_that_refuses_to_be_read_is_not_yet_rather_than_lost(make, token, tmp_path):
    await make("file").keep(token)
    key = tmp_path / "secrets" / "token.key"
    key.unlink()
    key.mkdir()
    with pytest.raises(VaultNotReady, match="can’t be read"):
        await make("file").load()


async def test_a_disk_that_refuses_to_be_written_keeps_nothing(make, token, tmp_path):
    (tmp_path / "secrets").write_text("in the way")
    with pytest.raises(TokenNotKept, match="can’t be written"):
        await make("file").keep(token)
    (tmp_path / "secrets").unlink()
    assert await make("file").load() is None


async def test_forgetting_removes_every_file_of_it(make, token, tmp_path):
    vault = make("file")
    await vault.keep(token)
    await vault.forget()
    assert list((tmp_path / "secrets").iterdir()) == []
    assert await vault.load() is None
    await vault.forget()


# ---- the keyring


@pytest.mark.requirement("R-012")
async def test_a_real_keyring_gets_the_sealed_token_and_the_file_only_its_key(make, ring, token, tmp_path):
    await make().keep(token)
    assert ring.trials == 1
    ((service, account),) = ring.entries
    sealed = ring.entries[service, account]
    assert service == "audiobook-bridge-agent"
    assert account == json.loads((tmp_path / "vault.json").read_text())["account"]
    assert token not in sealed
    assert len(sealed) <= 1280
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["token.key"]
    assert token.encode() not in everything_below(tmp_path)
    assert sealed.encode() not in everything_below(tmp_path)
    assert await make().load() == token
    assert threading.current_thread().name not in ring.threads


async def test_two_bridges_of_one_user_never_share_an_entry(ring, clock, tmp_path):
    for folder, token in (("a", "brg_" + "a" * 30), ("b", "brg_" + "b" * 30)):
        (tmp_path / folder).mkdir()
        await Vault("auto", tmp_path / folder, clock, FakeRings(ring)).keep(token)
    assert len(ring.entries) == 2
    assert await Vault("auto", tmp_path / "a", clock, FakeRings(ring)).load() == "brg_" + "a" * 30


@pytest.mark.parametrize("mood", ["locked", "forgetful", "hangs"])
async def test_auto_falls_back_to_the_file_when_the_keyring_fails_its_trial(
    make, ring, token, tmp_path, mood
):
    ring.mood = mood
    vault = make(limit=0.05)
    await vault.keep(token)
    assert vault.describe().kind == "file"
    ring.mood = "fine"
    assert await make().load() == token
    ring.release.set()
    assert not [account for _, account in ring.entries if not account.startswith("trial-")]


@pytest.mark.parametrize("error", [ModuleNotFoundError("nothing"), RuntimeError("no backend"), OSError(5)])
async def test_a_machine_without_a_keyring_uses_the_file(make, system, token, error):
    system.missing = error
    await make().keep(token)
    assert await make().load() == token


async def test_keyring_asked_for_and_not_there_keeps_nothing_and_says_what_to_do(
    make, system, token, tmp_path
):
    system.missing = RuntimeError("no backend")
    with pytest.raises(TokenNotKept, match="BRIDGE_TOKEN_STORE"):
        await make("keyring").keep(token)
    assert list((tmp_path / "secrets").iterdir()) == []
    assert await make("keyring").load() is None


async def test_a_token_too_long_for_windows_goes_into_the_file(make, ring):
    vault = make()
    await vault.keep("brg_" + "x" * 1500)
    assert ring.entries == {}
    assert vault.describe().kind == "file"


@pytest.mark.parametrize("mood", ["locked", "hangs", "forgetful"])
async def test_a_keyring_that_is_late_at_boot_is_not_ready_and_then_answers(make, ring, token, mood):
    await make().keep(token)
    vault = make(limit=0.05)
    ring.mood = mood
    for _ in range(4):
        with pytest.raises(VaultNotReady):
            await vault.load()
    ring.mood = "fine"
    ring.release.set()
    threads.secrets._stuck.clear()
    assert await vault.load() == token


async def test_a_keyring_that_is_missing_at_boot_is_not_ready_whatever_the_setting_says_now(
    make, system, token
):
    await make().keep(token)
    system.missing = RuntimeError("No recommended backend was available")
    for store in ("auto", "file", "keyring"):
        with pytest.raises(VaultNotReady, match="unlock it"):
            await make(store).load()


async def test_an_entry_that_stays_away_is_gone_only_after_a_minute(make, ring, token, clock):
    await make().keep(token)
    ring.entries.clear()
    vault = make()
    with pytest.raises(VaultNotReady, match="asked again"):
        await vault.load()
    await clock.advance(59)
    with pytest.raises(VaultNotReady):
        await vault.load()
    await clock.advance(1)
    assert await vault.load() is None


async def test_forgetting_removes_the_entry_too(make, ring, token, tmp_path):
    vault = make()
    await vault.keep(token)
    await vault.forget()
    assert ring.entries == {}
    assert list((tmp_path / "secrets").iterdir()) == []
    assert await make().load() is None


@pytest.mark.parametrize("mood", ["locked", "hangs"])
async def test_forgetting_with_a_keyring_that_fails_makes_the_entry_useless(
    make, ring, token, tmp_path, mood
):
    await make().keep(token)
    ring.mood = mood
    vault = make(limit=0.05)
    await vault.forget()
    assert list((tmp_path / "secrets").iterdir()) == []
    assert await vault.load() is None
    assert len(ring.entries) == 1


async def test_keeping_another_token_drops_the_earlier_entry(make, ring, token):
    await make().keep("brg_" + "o" * 40)
    await make().keep(token)
    assert len(ring.entries) == 1
    assert await make().load() == token


async def test_a_copy_that_is_paired_anew_leaves_the_originals_entry_alone(make, ring, token, tmp_path):
    await make().keep("brg_" + "o" * 40)
    original = dict(ring.entries)
    copy = make()
    await copy.disown()
    await copy.keep(token)
    assert original.items() <= ring.entries.items()
    assert len(ring.entries) == 2
    assert await make().load() == token


# ---- what it says


async def test_it_says_where_the_token_is_and_how_strong_that_is(make, token, tmp_path, system):
    vault = make()
    assert vault.describe().kind == "none"
    await vault.keep(token)
    place = vault.describe()
    assert (place.kind, place.strength) == ("keyring", "strong")
    assert "desktop’s keyring" in place.sentence
    system.missing = RuntimeError()
    await vault.keep(token)
    place = vault.describe()
    assert (place.kind, place.strength) == ("file", "fair")
    assert str(tmp_path / "secrets") in place.sentence


async def test_opening_reads_the_choice_and_leaves_the_keyring_alone(
    make, token, tmp_path, clock, monkeypatch
):
    await make().keep(token)

    class Untouchable:
        def best(self):
            raise AssertionError

        named = best

    monkeypatch.setattr(vault_module, "SystemRings", Untouchable)
    vault = await open_vault(BridgeSettings(data_dir=tmp_path), tmp_path, clock)
    assert vault.describe().kind == "keyring"


async def test_no_error_of_the_vault_tells_the_token(make, ring, system, token, caplog):
    caplog.set_level("DEBUG")
    ring.mood = "locked"
    with pytest.raises(TokenNotKept) as caught:
        await make("keyring").keep(token)
    assert token not in str(caught.value)
    assert NAME not in str(caught.value)
    assert token not in caplog.text
