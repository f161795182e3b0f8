"""Files spoiled by chance: each ends in a survey, always the same one, never in an exception or a hang."""

import random
from pathlib import Path

import msgspec
import pytest

from bridge_agent.transcription.audio import mp4_tables
from bridge_agent.transcription.model import Settings, Survey
from bridge_agent.transcription.planning import plan
from tests.fakes import odd_audio as odd
from tests.unit.transcription_audio.files import surveyed

pytestmark = pytest.mark.slow

SETTINGS = Settings(language=None, model="m", quality="balanced", word_timestamps=True, prompt="")
MAKERS = {
    "mp3": lambda p: odd.with_id3_chapters(odd.mp3(p, 4), [("a", 0, 2000), ("b", 2000, 4000)]),
    "m4b": lambda p: odd.m4a(p, 4, chapters=[("a", 0, 2000), ("b", 2000, 4000)]),
    "flac": lambda p: odd.encode(p, odd.sound(4), "flac", bit_rate=None),
    "opus": lambda p: odd.encode(p, odd.sound(4, 48_000), "libopus", rate=48_000, form="ogg"),
    "wav": lambda p: odd.wav(p, odd.sound(4, 16_000)),
    "aac": lambda p: odd.encode(p, odd.sound(4), "aac", form="adts"),
    "mka": lambda p: odd.encode(p, odd.sound(4), "libopus", to_rate=48_000, form="matroska"),
}


def spoil(raw: bytes, chance: random.Random) -> bytes:
    """Overwrite, cut out, insert or cut off; often near the start, where the headers are."""
    changed = bytearray(raw)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(changed) if chance.random() < 0.5 else min(len(changed), 3000))
        length = chance.choice([1, 2, 4, 30, 500])
        match chance.randrange(4):
            case 0:
                changed[at : at + length] = chance.randbytes(length)
            case 1:
                changed[at : at + length] = chance.choice([b"\0", b"\xff"]) * length
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = chance.randbytes(length)
    if chance.random() < 0.2:
        del changed[chance.randrange(len(changed)) :]
    return bytes(changed)


@pytest.mark.parametrize(("kind", "tables"), [*((kind, False) for kind in MAKERS), ("m4b", True)])
@pytest.mark.timeout(240)
def test_whatever_happens_to_a_file_its_survey_ends_and_can_be_planned(tmp_path, monkeypatch, kind, tables):
    monkeypatch.setattr(mp4_tables, "LEAST", 1 if tables else 10**9)
    raw = MAKERS[kind](tmp_path / f"whole.{kind}").read_bytes()
    chance = random.Random(f"{kind} {tables}")
    path: Path = tmp_path / f"spoiled.{kind}"
    for _ in range(40):
        path.write_bytes(spoil(raw, chance) or b"\0")
        found = surveyed(path)
        assert (found.sentence is None) == (found.problem is None)
        assert found.samples < 26 * 3600 * 16_000
        made = plan.make(Survey(files=(found,), decoder="d"), SETTINGS)
        assert sum(part.own_end - part.own_start for part in made.parts) == found.samples
    assert msgspec.json.encode(surveyed(path)) == msgspec.json.encode(found)
