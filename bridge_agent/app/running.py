"""Running a service in the foreground: started, told to stop by a signal, stopped in order."""

import asyncio
import logging
import os
from typing import Protocol

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import ExitCode
from bridge_agent.base.processes import notify_manager, on_stop_signals
from bridge_agent.base.tasks import Tasks

_log = logging.getLogger(__name__)


class Service(Protocol):
    """What can be run: a Bridge, a home server, both as the demo."""

    async def start(self) -> None:
        """Start; raises BridgeError with what to do."""
        ...

    async def stop(self) -> None:
        """Stop in order; harmless after a start that failed half way."""
        ...

    def healthy(self) -> bool:
        """Whether the service manager's watchdog should be fed."""
        ...


async def run(service: Service, clock: Clock) -> ExitCode:
    """Run a service until a signal asks it to stop, during its start too.

    Raises what its start raises, after cleaning up.
    """
    asked = asyncio.Event()
    on_stop_signals(asyncio.get_running_loop(), asked.set)
    tasks = Tasks("process")
    waiting = tasks.spawn(asked.wait(), "signal")
    try:
        starting = tasks.spawn(service.start(), "start", awaited=True)
        await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.is_set():
            await starting
            notify_manager("READY=1")
            await _until(asked, service, clock)
    finally:
        await tasks.cancel()
        notify_manager("STOPPING=1")
        await service.stop()
    _log.info("Stopped.")
    return ExitCode.DONE


async def _until(asked: asyncio.Event, service: Service, clock: Clock) -> None:
    """Wait for the stop; feed the watchdog at a third of its time while the service is healthy."""
    microseconds = int(os.environ.get("WATCHDOG_USEC", "0") or 0)
    if not microseconds:
        await asked.wait()
        return
    while not asked.is_set():
        if service.healthy():
            notify_manager("WATCHDOG=1")
        await clock.wait(asked, microseconds / 3e6)
