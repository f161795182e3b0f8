"""The system's keyring: found, tried out and called. Everything here blocks; run it in a thread."""

import uuid
from typing import Protocol

from bridge_agent.vault.errors import RingUnusable

SERVICE = "audiobook-bridge-agent"
MOST_CHARACTERS = 1280
"""What Windows takes for one entry (2560 bytes of UTF-16)."""

# Files under another name, some of them asking for a password on the terminal: our own sealed file is better.
_NO_REAL_KEYRINGS = ("keyrings.alt", "keyring.backends.fail", "keyring.backends.null")


class Ring(Protocol):
    """One keyring, as the package `keyring` gives it. Each call may raise any Exception, or never return."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return an entry, or None where there is none."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Write an entry."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Remove an entry."""
        ...


class Rings(Protocol):
    """Where keyrings are found."""

    def best(self) -> tuple[str, Ring]:
        """Return the best real keyring and the name by which `named` finds it again; any Exception."""
        ...

    def named(self, name: str) -> Ring:
        """Return that same keyring after a restart; raises any Exception while it is not there."""
        ...


class SystemRings:
    """The keyrings of the package `keyring`, imported when first asked."""

    def best(self) -> tuple[str, Ring]:
        """Return the keyring that the system prefers; raises RingUnusable, or whatever the package does."""
        import keyring

        found = keyring.get_keyring()
        # A chain reads from whichever member is there: the member itself must be remembered.
        for member in getattr(found, "backends", None) or [found]:
            name = f"{type(member).__module__}.{type(member).__qualname__}"
            if not name.startswith(_NO_REAL_KEYRINGS) and float(member.priority) >= 1:
                return name, member
        raise RingUnusable

    def named(self, name: str) -> Ring:
        """Return the keyring of that class; raises whatever the package does while it is not usable."""
        import keyring.core

        ring: Ring = keyring.core.load_keyring(name)
        return ring


def try_out(ring: Ring) -> None:
    """Write, read and remove a trial entry; raises RingUnusable, or whatever the keyring does.

    Only that proves a keyring: many look usable and fail at their first use.
    """
    account, secret = f"trial-{uuid.uuid4()}", uuid.uuid4().hex
    ring.set_password(SERVICE, account, secret)
    try:
        found = ring.get_password(SERVICE, account)
    finally:
        ring.delete_password(SERVICE, account)
    if found != secret:
        raise RingUnusable


def spoken_name(name: str) -> str:
    """Return what a person calls the keyring of that class."""
    for part, spoken in (
        ("macOS", "the macOS keychain"),
        ("Windows", "the Windows credential manager"),
        ("kwallet", "KWallet"),
        ("SecretService", "the desktop’s keyring"),
        ("libsecret", "the desktop’s keyring"),
    ):
        if part in name:
            return spoken
    return "this system’s keyring"
