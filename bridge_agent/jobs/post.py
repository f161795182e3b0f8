"""The way to the server for this package: open for one server at a time, shut while its token is refused."""

from bridge_agent.jobs.server_jobs import Key
from bridge_agent.link.errors import NotPaired
from bridge_agent.link.link import Link
from bridge_agent.protocol.bridge import Report, ReportAnswer


class Post:
    """Sends reports of the server's claims to that server alone: job ids mean nothing to another one."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.server_id: str | None = None
        """The server that reports go to; None while nothing may run (R-048, R-087)."""
        self.claiming = False
        """Whether jobs may be claimed: what was held before has been taken up again."""

    def open(self, server_id: str) -> None:
        """Let reports go to this server; claims follow when what it holds is resumed."""
        self.server_id = server_id
        self.claiming = False

    def close(self) -> None:
        """Let nothing go out."""
        self.server_id = None
        self.claiming = False

    def reaches(self, server_id: str) -> bool:
        """Tell whether reports to this server may go out."""
        return self.server_id == server_id == self._link.server_id

    async def report(self, key: Key, report: Report) -> ReportAnswer:
        """Report on a claim.

        Raises NotPaired where its server is not the one that is linked, and all that `Link.report` raises.
        """
        if not self.reaches(key.server_id):
            raise NotPaired
        return await self._link.report(key.job_id, report)
