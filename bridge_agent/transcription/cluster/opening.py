"""A cluster, opened where the settings name one."""

from dataclasses import dataclass

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.cluster.executor import ClusterExecutor
from bridge_agent.transcription.cluster.scheduler import Scheduler


@dataclass(frozen=True)
class Cluster:
    """A cluster's executor, and the connection that it works over."""

    executor: ClusterExecutor
    scheduler: Scheduler

    async def close(self) -> None:
        """End the connection; whoever ran books has stopped them before."""
        await self.scheduler.close()


def open_cluster(settings: BridgeSettings, clock: Clock, tasks: Tasks) -> Cluster | None:
    """Return the cluster of BRIDGE_CLUSTER, its connection begun in the background; None without one.

    Nothing is waited for, and nothing of Dask imported before the loop runs on.
    """
    if not settings.cluster:
        return None
    scheduler = Scheduler(settings.cluster, clock, tasks)
    scheduler.start()
    return Cluster(ClusterExecutor(settings, clock, scheduler), scheduler)
