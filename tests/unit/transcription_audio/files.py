"""Files and surveys for these tests."""

import threading
from pathlib import Path

from bridge_agent.transcription.model import RATE, FileSurvey


def surveyed(path: Path) -> FileSurvey:
    from bridge_agent.transcription.audio.survey import survey_file

    return survey_file(path, path.name, None, threading.Event())


def seconds(found: FileSurvey) -> float:
    return found.samples / RATE
