"""A book's parts put together: pure functions of plan and results, the same bytes whatever their order."""

from bridge_agent.transcription.assembly.assemble import transcript
from bridge_agent.transcription.assembly.result import Artifact, Result, RunFacts, WorkerShare, result
from bridge_agent.transcription.assembly.transcript import Transcript

__all__ = ["Artifact", "Result", "RunFacts", "Transcript", "WorkerShare", "result", "transcript"]
