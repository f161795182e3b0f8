"""Ids of what the pipeline counts by numbers, as the UUIDs that the public workers demand, and back.

A part's number is in its UUID, beside a prefix of this Bridge's own: nothing has to be kept for it.
"""

import uuid


class NumberedIds:
    """UUIDs (version 8) for the numbers of one kind of thing."""

    def __init__(self, key: bytes) -> None:
        """Take a secret key of this kind of thing, of at least 10 bytes."""
        prefix = bytearray(key[:10])
        prefix[6] = 0x80 | prefix[6] & 0x0F
        prefix[8] = 0x80 | prefix[8] & 0x3F
        self._prefix = bytes(prefix)

    def of(self, number: int) -> str:
        """Return the UUID of a number."""
        return str(uuid.UUID(bytes=self._prefix + number.to_bytes(6, "big")))

    def number(self, text: str) -> int | None:
        """Return the number of a UUID; None for one of something else."""
        raw = uuid.UUID(text).bytes
        return int.from_bytes(raw[10:], "big") if raw[:10] == self._prefix else None
