"""Passwords: hashed with scrypt, compared in constant time, off the event loop."""

import base64
import hashlib
import hmac
import secrets

from bridge_agent.base.threads import in_thread

_N, _R, _P = 1 << 14, 8, 1
_NEVER = "scrypt$14$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
_READABLE = "abcdefghjkmnpqrstuvwxyz23456789"


def hash_now(password: str) -> str:
    """Return `scrypt$14$salt$hash` of a password; takes some 50 ms and 16 MiB."""
    salt = secrets.token_bytes(16)
    digest = _derive(password, salt)
    return "$".join(("scrypt", "14", base64.b64encode(salt).decode(), base64.b64encode(digest).decode()))


async def hash_password(password: str) -> str:
    """Return the hash to store of a password."""
    return await in_thread(hash_now, password)


async def matches(password: str, stored: str | None) -> bool:
    """Tell whether a password is the stored one; with nothing stored it takes as long and says no."""
    return await in_thread(_matches, password, stored)


def _matches(password: str, stored: str | None) -> bool:
    _, _, salt, digest = (stored or _NEVER).split("$")
    derived = _derive(password, base64.b64decode(salt))
    return hmac.compare_digest(derived, base64.b64decode(digest)) and stored is not None


def _derive(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, n=_N, r=_R, p=_P, dklen=32)


def generate() -> str:
    """Return a password of 78 bits that can be read aloud: four groups of four."""
    groups = ["".join(secrets.choice(_READABLE) for _ in range(4)) for _ in range(4)]
    return "-".join(groups)
