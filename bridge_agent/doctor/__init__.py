"""The doctor: looks for what keeps a Bridge from working, whether or not one runs or is paired."""

from bridge_agent.doctor.examination import run
from bridge_agent.doctor.findings import Finding, Level
from bridge_agent.doctor.probes import Probes

__all__ = ["Finding", "Level", "Probes", "run"]
