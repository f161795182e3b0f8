"""The result of a job is the wire's and stays inside its limits."""

import msgspec

from bridge_agent.protocol.text import RESULT_BYTES
from bridge_agent.transcription.assembly import Artifact, RunFacts, WorkerShare, result, transcript
from bridge_agent.transcription.model import RATE, Damage
from tests.unit.transcription_assembly.books import heard, plan


def test_the_result_has_the_fields_of_the_wire():
    found = transcript(plan(30), {0: heard(0, "one two")}, "Book", "Author")
    facts = RunFacts(
        library_id=7,
        path="A/B",
        parts=1,
        device="cpu",
        seconds_spent=4.0,
        workers=(WorkerShare(name="this machine", parts=1, audio_seconds=30.0),),
        artifacts=(
            Artifact(name="transcript.json", content_type="application/json", sha256="f", size_bytes=3),
        ),
    )
    assert msgspec.to_builtins(result(found, facts)) == {
        "library_id": 7,
        "path": "A/B",
        "title": "Book",
        "language": "en",
        "duration_seconds": 30.0,
        "parts": 1,
        "segments": 1,
        "words": 2,
        "engine": {"name": "scripted", "model": "base", "device": "cpu", "compute_type": "int8"},
        "seconds_spent": 4.0,
        "speed": 7.5,
        "reused_parts": 0,
        "workers": ({"name": "this machine", "parts": 1, "audio_seconds": 30.0},),
        "gaps": (),
        "gaps_total": 0,
        "warnings": (),
        "warnings_total": 0,
        "artifacts": (
            {
                "name": "transcript.json",
                "content_type": "application/json",
                "sha256": "f",
                "size_bytes": 3,
                "stored": "bridge",
            },
        ),
    }


def test_long_lists_are_cut_with_their_totals_and_fit_the_wire():
    many = [Damage(start=n * RATE, end=n * RATE + 5, reason="damaged") for n in range(250)]
    found = transcript(plan(300, gaps=many), {0: heard(0, "one")}, "Book", "Author")
    facts = RunFacts(
        library_id=1, path="p", parts=1, device="cpu", seconds_spent=0.0, warnings=("\x00é" * 5000,) * 120
    )
    made = result(found, facts)
    assert (len(made.gaps), made.gaps_total) == (100, 250)
    assert (len(made.warnings), made.warnings_total) == (100, 120)
    assert made.speed == 0.0
    assert len(msgspec.json.encode(made)) < RESULT_BYTES


def test_words_without_times_are_still_counted():
    found = transcript(plan(30, word_timestamps=False), {0: heard(0, "one two three")}, "B", "A")
    assert found.word_count == 3
