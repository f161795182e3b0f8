"""Who this worker is to its Bridge: registered once, the same again after a restart."""

import hashlib
import logging
import os
import socket
from pathlib import Path

import msgspec
import psutil

from bridge_agent.base.files import write_private
from bridge_agent.base.threads import in_thread
from bridge_agent.protocol import coordinator as wire
from bridge_agent.worker.coordinator import Coordinator

_log = logging.getLogger(__name__)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A registration that holds for this address, token, name and these capabilities."""

    fits: str
    worker_id: str
    interval: float


class Identity:
    """Registers the worker, and remembers as whom in a file."""

    def __init__(self, file: Path, coordinator: Coordinator, token: str, name: str, model: str) -> None:
        self.capabilities = [wire.TRANSCRIBE, wire.capability(model)]
        self._file = file
        self._coordinator = coordinator
        self._wanted = wire.Registration(
            name=name or socket.gethostname() or "worker",
            capabilities=self.capabilities,
            cpu_count=os.cpu_count(),
            memory_mb=psutil.virtual_memory().total >> 20,
        )
        said = [coordinator.url, token, self._wanted.name, *self.capabilities]
        self._fits = hashlib.sha256("\n".join(said).encode()).hexdigest()
        self._id = ""

    async def get(self) -> str:
        """Return the worker's id, registering it where that is needed; raises what asking raises."""
        if not self._id:
            known = await in_thread(self._read)
            if known is not None and known.fits == self._fits:
                self._coordinator.interval = known.interval
                self._id = known.worker_id
            else:
                await self._register()
        return self._id

    async def renew(self) -> str:
        """Register anew: the Bridge does not know the worker any more."""
        self._id = ""
        await self._register()
        return self._id

    async def _register(self) -> None:
        found = await self._coordinator.register(self._wanted)
        self._id = found.worker_id
        known = Known(fits=self._fits, worker_id=found.worker_id, interval=found.heartbeat_interval_seconds)
        try:
            await in_thread(write_private, self._file, msgspec.json.encode(known))
        except OSError as error:
            _log.warning("Who this worker is can't be written down: %s", error)

    def _read(self) -> Known | None:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Known)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
