"""Choosing among what the package `keyring` offers: real ones only, and the same one again."""

import sys

import keyring
import keyring.core
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend
from keyring.backends.fail import Keyring as FailKeyring
from keyring.backends.null import Keyring as NullKeyring

from bridge_agent.vault.errors import RingUnusable
from bridge_agent.vault.rings import SystemRings, spoken_name


class Real(KeyringBackend):
    priority = 5

    def get_password(self, service, username):
        return "found"

    def set_password(self, service, username, password):
        raise AssertionError

    def delete_password(self, service, username):
        raise AssertionError


@pytest.fixture
def present(monkeypatch):
    def set_to(backend):
        monkeypatch.setattr(keyring, "get_keyring", lambda: backend)

    return set_to


def test_the_member_of_a_chain_is_remembered_and_found_again(present, monkeypatch):
    chain = ChainerBackend()
    monkeypatch.setattr(ChainerBackend, "backends", [NullKeyring(), Real()])
    present(chain)
    name, ring = SystemRings().best()
    assert type(ring) is Real
    assert name == f"{__name__}.Real"
    assert SystemRings().named(name).get_password("s", "a") == "found"


@pytest.mark.parametrize("backend", [FailKeyring(), NullKeyring()])
def test_what_only_looks_like_a_keyring_is_not_used(present, backend):
    present(backend)
    with pytest.raises(RingUnusable):
        SystemRings().best()


def test_a_plain_file_under_the_name_of_a_keyring_is_not_used(present):
    plain = type("PlaintextKeyring", (Real,), {"__module__": "keyrings.alt.file"})
    present(plain())
    with pytest.raises(RingUnusable):
        SystemRings().best()


def test_keyring_is_imported_only_when_asked():
    code = (
        "import sys, bridge_agent.vault; sys.exit('keyring' in sys.modules or 'cryptography' in sys.modules)"
    )
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("keyring.backends.macOS.Keyring", "the macOS keychain"),
        ("keyring.backends.Windows.WinVaultKeyring", "the Windows credential manager"),
        ("keyring.backends.kwallet.DBusKeyring", "KWallet"),
        ("some.other.Ring", "this system’s keyring"),
    ],
)
def test_keyrings_have_the_names_that_people_know(name, spoken):
    assert spoken_name(name) == spoken
