"""A whole Bridge whose verify does nothing but say on standard output when its first line ran."""

import asyncio
import os
import sys
from time import perf_counter

from bridge_agent.app import bridge
from bridge_agent.app.running import run
from bridge_agent.base.clock import SystemClock
from bridge_agent.jobs.handlers.base import Done, JobContext
from bridge_agent.protocol.bridge import VERIFY
from bridge_agent.settings import BridgeSettings

IDLE = "bench.idle"


class Stamp:
    """A handler whose first line is a time."""

    lane = "light"

    def __init__(self, kind: str) -> None:
        self.kind = kind

    async def run(self, job: JobContext) -> Done:
        print(f"{perf_counter():.7f}", flush=True)
        return Done({"ok": True})


def main() -> None:
    """Run until a signal."""
    bridge.VerifyHandler = lambda *_, **__: Stamp(VERIFY)  # type: ignore[assignment,misc]
    clock = SystemClock()
    settings = BridgeSettings.load(os.environ)
    sys.exit(asyncio.run(run(bridge.Bridge(settings, clock), clock)))


if __name__ == "__main__":
    main()
