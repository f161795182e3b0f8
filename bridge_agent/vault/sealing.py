"""Sealing: AES-256-GCM under a key that belongs to this one token."""

import base64
import binascii
import os

KEY_BYTES = 32
_NONCE_BYTES = 12
_FORM = "v1."
# Bound into every seal, so that a sealed text of another use never opens here.
_USE = b"audiobook-bridge-agent token v1"


class SealBroken(ValueError):
    """A sealed text that this key does not open: damaged, or sealed under another key."""


def new_key() -> bytes:
    """Return a fresh key."""
    return os.urandom(KEY_BYTES)


def seal(token: str, key: bytes) -> str:
    """Return the token sealed, as text."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    raw = nonce + AESGCM(key).encrypt(nonce, token.encode(), _USE)
    return _FORM + base64.urlsafe_b64encode(raw).decode("ascii")


def unseal(sealed: str, key: bytes) -> str:
    """Return the token of a sealed text; raises SealBroken."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if not sealed.startswith(_FORM) or len(key) != KEY_BYTES:
        raise SealBroken("not a sealed token of this form")
    try:
        raw = base64.b64decode(sealed[len(_FORM) :], altchars=b"-_", validate=True)
        return AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _USE).decode()
    except (InvalidTag, binascii.Error, ValueError) as error:
        raise SealBroken("the key does not open it") from error
