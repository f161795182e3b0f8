"""Growing pauses between tries, with chance from a seam: cap first, jitter after."""

import random
import secrets
from collections.abc import Callable


def full_jitter(
    tries: int, first: float, longest: float, chance: Callable[[], float] = random.random
) -> float:
    """Return the pause in seconds before try number `tries` (from 1): anything from half to all of it.

    The ceiling is applied before the chance, so that many waiters do not meet again at the ceiling.
    """
    ceiling = min(longest, first * 2.0 ** min(max(tries - 1, 0), 40))
    return ceiling * (0.5 + 0.5 * chance())


def around(seconds: float, part: float, chance: Callable[[], float] = random.random) -> float:
    """Return `seconds` give or take that part of it."""
    return seconds * (1.0 + part * (2.0 * chance() - 1.0))


def token(prefix: str, size: int = 32) -> str:
    """Return a secret of `size` random bytes in base64url after its prefix."""
    return prefix + secrets.token_urlsafe(size)
