"""Who seals and opens: this process, or a child that ends at once.

The library that brings AES takes some 6 MiB for as long as the process lives, and a Bridge opens its token
once a start. So a whole Bridge has a child do it: `python -m bridge_agent.vault.sealer`, the secrets through
its pipes alone, where nobody else can read them.
"""

import asyncio
import base64
import json
import logging
import sys
from typing import Protocol

from bridge_agent.vault import sealing

_log = logging.getLogger(__name__)
_LIMIT_S = 30.0


class Sealer(Protocol):
    """Seals a token, and opens what it sealed."""

    async def seal(self, token: str, key: bytes) -> str:
        """Return the token sealed."""
        ...

    async def unseal(self, sealed: str, key: bytes) -> str:
        """Return the token of a sealed text; raises SealBroken."""
        ...


class OwnSealer:
    """Seals in this process."""

    async def seal(self, token: str, key: bytes) -> str:
        """Return the token sealed."""
        return sealing.seal(token, key)

    async def unseal(self, sealed: str, key: bytes) -> str:
        """Return the token of a sealed text; raises SealBroken."""
        return sealing.unseal(sealed, key)


class ChildSealer:
    """Has a child do it; where none can be started, this process does."""

    def __init__(self) -> None:
        self._own = OwnSealer()

    async def seal(self, token: str, key: bytes) -> str:
        """Return the token sealed."""
        answer = await _asked("seal", token, key)
        return answer["text"] if answer else await self._own.seal(token, key)

    async def unseal(self, sealed: str, key: bytes) -> str:
        """Return the token of a sealed text; raises SealBroken."""
        answer = await _asked("unseal", sealed, key)
        if answer is None:
            return await self._own.unseal(sealed, key)
        if "broken" in answer:
            raise sealing.SealBroken(answer["broken"])
        return answer["text"]


async def _asked(work: str, text: str, key: bytes) -> dict[str, str] | None:
    """Ask a child; None where that did not come to an answer."""
    question = json.dumps({"do": work, "text": text, "key": base64.b64encode(key).decode()})
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            __spec__.name,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        _log.debug("No child could be started for sealing: %s", error)
        return None
    try:
        async with asyncio.timeout(_LIMIT_S):
            said, _ = await child.communicate(question.encode())
        answer: dict[str, str] = json.loads(said)
    except (TimeoutError, ValueError, OSError) as error:
        _log.debug("The child that seals did not answer: %s", type(error).__name__)
        return None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return answer


def _main() -> None:
    question = json.loads(sys.stdin.buffer.read())
    key = base64.b64decode(question["key"])
    try:
        work = {"seal": sealing.seal, "unseal": sealing.unseal}[question["do"]]
        answer = {"text": work(question["text"], key)}
    except sealing.SealBroken as error:
        answer = {"broken": str(error)}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _main()
