"""Audio addresses: they carry no token, so each is unguessable, and good for one claim alone."""

import base64
import hmac
import re

from bridge_agent.transcription.pipeline.tasks import Claim, Task
from bridge_agent.worker_api.service.service import WorkService

KEY = "audio addresses"
_FORM = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16})-([A-Za-z0-9_-]{43})\.flac\Z")
_BOT_TOKEN = re.compile(r"/(?:file/)?bot[0-9]+:[A-Za-z0-9_-]+(?:[/?]|$)")


class Addresses:
    """Makes the last piece of a part's audio address, and knows its own."""

    def __init__(self, key: bytes) -> None:
        """Sign with a key that outlives a restart, as claims do."""
        self._key = key

    def of(self, claim: Claim) -> str:
        """Return the name under which a claim's audio is to be had."""
        return f"{claim.id:x}-{claim.attempt:x}-{self._mark(claim)}.flac"

    async def task(self, name: str, service: WorkService) -> Task | None:
        """Return the task whose audio an address means; None once its claim is over, or for others."""
        match = _FORM.match(name)
        if match is None:
            return None
        task = await service.task(int(match[1], 16) & (2**63 - 1))
        if task is None or task.holder is None or task.attempt != int(match[2], 16):
            return None
        right = hmac.compare_digest(self._mark(task.claim), match[3])
        return task if right and service.lives(task.claim) else None

    def _mark(self, claim: Claim) -> str:
        text = f"{claim.id}\n{claim.attempt}\n{claim.holder}"
        digest = hmac.digest(self._key, text.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def without_bot_token(url: str) -> str | None:
    """Return an address, None where it carries a bot's token in the way of Telegram's, on any host."""
    return None if _BOT_TOKEN.search(url) else url
