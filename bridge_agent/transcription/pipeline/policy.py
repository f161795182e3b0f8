"""How long a step may take, how often it is tried, how long is waited in between."""

from dataclasses import dataclass

from bridge_agent.transcription.pipeline.tasks import Open, Phase
from bridge_agent.transcription.planning.cuts import MOST, OVERLAP

LONGEST_PART = MOST + 2 * OVERLAP
"""The longest part that a plan may hold, in samples."""
LONGEST_FILE_S = 100 * 3600.0
"""The longest file that a book may have, in seconds."""
SLOWEST_DECODE = 10.0
"""Seconds of audio a second that the slowest machine decodes from the slowest share."""
CUT_S = 300.0
"""Writing a part, on a disk that is busy."""


@dataclass(frozen=True)
class Step:
    """One step of a task: the state it takes a part from, and how long a claim of it lives, in seconds."""

    name: str
    takes: Open
    limit_s: float
    phase: Phase | None = None


def convert_worst_case() -> float:
    """Return the seconds that cutting a part may take: at worst all before it is decoded first (P-031)."""
    return LONGEST_FILE_S / SLOWEST_DECODE + CUT_S


def convert() -> Step:
    """Return the step that cuts a part's audio."""
    return Step("convert", "created", convert_worst_case())


def transcribe(worst_case_s: float) -> Step:
    """Return the step that transcribes; `worst_case_s` is what the executors' slowest may need (P-031)."""
    return Step("transcribe", "converted", worst_case_s, "transcribing")


@dataclass(frozen=True)
class Retries:
    """`most_tries` claims of a step that never succeeds, with pauses that grow up to `longest_pause_s`.

    `foreign_delay_s` is the constant wait for something that is not the pipeline's (P-051).
    """

    most_tries: int = 3
    first_pause_s: float = 5.0
    longest_pause_s: float = 300.0
    foreign_delay_s: float = 15.0

    def pause(self, tries: int) -> float:
        """Return the seconds to wait after so many failed tries: it doubles, up to the ceiling (P-050)."""
        first = min(self.first_pause_s, self.longest_pause_s)
        return float(min(self.longest_pause_s, first * 2.0 ** min(max(tries - 1, 0), 40)))
