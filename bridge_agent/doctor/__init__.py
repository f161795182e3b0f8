"""The doctor: looks for what keeps a Bridge from working, whether or not one runs or is paired."""

from bridge_agent.doctor.examination import run
from bridge_agent.doctor.findings import Finding, Level
from bridge_agent.doctor.probes import Probes
from bridge_agent.doctor.state import Running

__all__ = ["Finding", "Level", "Probes", "Running", "run"]
