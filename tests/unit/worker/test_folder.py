"""A worker's data folder: what is taken for one, and that nothing of anybody else's is removed."""

from pathlib import Path

import pytest

from bridge_agent.worker.folder import MARKER, NotAWorkers, clear_audio, look, mark


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")


@pytest.mark.parametrize(
    "names",
    [
        ["audio/song.flac"],
        ["audio/song.flac", "finished/notes.json"],
        ["bridge.db", "engine.json", "models/tiny/model.bin"],
        ["photos/one.jpg", "worker.lock", "worker.pid"],
        ["models/tiny/model.bin"],
        ["models"],
    ],
)
def test_a_folder_with_anything_else_in_it_is_refused_and_left_as_it_is(tmp_path: Path, names: list[str]):
    fill(tmp_path, *names)
    before = sorted(tmp_path.rglob("*"))
    mode = tmp_path.stat().st_mode
    with pytest.raises(NotAWorkers, match="nothing in it was touched; choose an empty or new folder"):
        look(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    assert tmp_path.stat().st_mode == mode


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["worker.toml"],
        [".DS_Store", "lost+found/x"],
        ["worker.lock", "worker.pid", "audio/x", "finished/y", "models/tiny/z", "logs/w", "worker.json"],
        ["engine.json", "models/tiny/z"],
        ["models/tiny/bridge-model.json", "models/tiny/z", "models/base.partial/z", "models/hashes.json"],
        ["worker.lock", ".bridge-worker.x81h2"],
        [MARKER, "anything"],
    ],
)
def test_an_empty_folder_and_a_worker_s_are_taken(tmp_path: Path, names: list[str]):
    fill(tmp_path, *names)
    look(tmp_path)
    mark(tmp_path)
    fill(tmp_path, "what came later")
    look(tmp_path)


def test_a_folder_that_is_not_there_is_no_hindrance(tmp_path: Path):
    look(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_of_the_audio_only_what_a_worker_fetched_is_removed(tmp_path: Path):
    fill(tmp_path, f"{'0a' * 16}.flac", "song.flac", "album/one.flac")
    clear_audio(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["album", "song.flac"]
