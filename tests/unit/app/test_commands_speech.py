"""`bridge-agent transcribe` and `search`: without a Bridge, beside one, and what a wrong call is told."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import bridge_agent
from bridge_agent.app import commands_speech, local_book, watching
from bridge_agent.app.local_book import NoBook
from bridge_agent.base.errors import BridgeError, ExitCode, SettingsError
from bridge_agent.store import FolderLock
from tests.unit.app.test_commands import page

SOUP = Path(bridge_agent.__file__).parent / "demo_library" / "Folk Tales"


def transcribe(book: Path, data: Path, **given: Any) -> ExitCode:
    plain = {"language": "en", "quality": "balanced", "model": None, "output": None, "as_json": True}
    return commands_speech.transcribe(book, data, **{**plain, **given})


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine of the tests hear."""
    monkeypatch.setenv("BRIDGE_SPEECH_MODEL", "scripted")
    monkeypatch.setenv("BRIDGE_SPEECH_PROCESSES", "1")


@pytest.mark.slow
@pytest.mark.usefixtures("scripted")
def test_a_book_is_transcribed_found_again_and_searched_without_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    assert transcribe(SOUP, data, output=out) is ExitCode.DONE
    first = json.loads(capsys.readouterr().out)
    assert (first["title"], first["reused_parts"]) == ("Stone Soup", 0)
    assert sorted(path.name for path in out.iterdir()) == [
        "Stone Soup.json",
        "Stone Soup.srt",
        "Stone Soup.txt",
        "Stone Soup.vtt",
    ]
    assert first["files"] == [str(out / f"Stone Soup.{kind}") for kind in ("json", "vtt", "srt", "txt")]

    assert transcribe(SOUP, data, as_json=False) is ExitCode.DONE
    said = capsys.readouterr().out
    assert "Stone Soup: 58 s transcribed, made before" in said
    assert str(data / "transcripts") in said

    word = (out / "Stone Soup.txt").read_text().split()[-1].strip(".")
    assert commands_speech.search([word], data, limit=5, as_json=True) is ExitCode.DONE
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert {hit["title"] for hit in hits} == {"Stone Soup"}
    assert f"<mark>{word}" in hits[0]["snippet"]


@pytest.mark.slow
@pytest.mark.usefixtures("scripted")
def test_beside_a_running_bridge_a_folder_of_its_own_is_used_and_the_bridge_is_given_the_transcript(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = FolderLock(tmp_path, "bridge")
    lock.acquire()
    try:
        with page(tmp_path, 200, {"changed": 1}) as asked:
            assert transcribe(SOUP, tmp_path) is ExitCode.DONE
    finally:
        lock.release()
    assert asked == [("POST", "/api/transcripts/mend", None)]
    made = json.loads(capsys.readouterr().out)
    assert all(Path(path).is_relative_to(tmp_path / "command-line") for path in made["files"])
    assert commands_speech.search([made["title"]], tmp_path, limit=5, as_json=True) is ExitCode.DONE
    (kept,) = (tmp_path / "transcripts").iterdir()
    assert {path.name for path in kept.iterdir()} >= {"kept.json", "transcript.json", "transcript.txt"}


@pytest.mark.parametrize(
    ("given", "said"),
    [({"language": "english"}, "two letters"), ({"quality": "best"}, "balanced")],
)
def test_wrong_wishes_are_wrong_usage(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        transcribe(SOUP, tmp_path, **given)
    assert caught.value.exit_code is ExitCode.USAGE


def test_without_an_engine_the_command_names_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "bridge_agent.transcription.engines.wishes.importlib.util.find_spec", lambda name: None
    )
    with pytest.raises(BridgeError, match=r"pip install 'audiobook-bridge-agent\[speech\]'"):
        transcribe(SOUP, tmp_path)


def test_a_running_bridge_is_searched_by_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hit = {
        "transcript_id": 3,
        "title": "Three Fables",
        "author": "Aesop",
        "chapter": "The Hare",
        "start": 3672.4,
        "snippet": "to the <mark>bridge</mark> &amp; mill",
    }
    with page(tmp_path, 200, {"hits": [hit], "next_after": "x"}) as asked:
        assert commands_speech.search(["old", "bridge*"], tmp_path, limit=1, as_json=False) is ExitCode.DONE
    assert asked == [("GET", "/api/search?q=old+bridge*&limit=1", None)]
    said = capsys.readouterr().out
    assert "Three Fables · Aesop" in said
    assert "1:01:12  The Hare" in said
    assert "to the bridge & mill" in said
    assert "There are more" in said


def test_nothing_found_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands_speech.search(["submarine"], tmp_path, limit=5, as_json=False) is ExitCode.DONE
    assert "Nobody says “submarine”" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "query"),
    [
        (["old", "bridge"], "old bridge"),
        (["old bridge", "mill"], '"old bridge" mill'),
        (['"a b" c'], '"a b" c'),
    ],
)
def test_an_argument_of_several_words_is_a_phrase(given: list[str], query: str) -> None:
    assert commands_speech.query_of(given) == query


def test_marks_are_bold_on_a_terminal() -> None:
    hit = {
        "transcript_id": 1,
        "title": "T",
        "author": "",
        "chapter": "T",
        "start": 5,
        "snippet": "<mark>x</mark> y",
    }
    lines = list(commands_speech.hit_lines({"hits": [hit], "next_after": None}, "x", bold=True))
    assert lines[0] == "T"
    assert lines[2].endswith("\x1b[1mx\x1b[0m y")


# ---- a book by its path


def test_a_folder_is_one_book_in_natural_order(tmp_path: Path) -> None:
    book = tmp_path / "A Book"
    for name in ("CD2/1.mp3", "CD1/10.mp3", "CD1/2.mp3", "cover.jpg", ".hidden.mp3"):
        (book / name).parent.mkdir(parents=True, exist_ok=True)
        (book / name).write_bytes(b"x")
    found = local_book.find(book)
    assert [file.relative for file in found.files] == ["CD1/2.mp3", "CD1/10.mp3", "CD2/1.mp3"]
    assert (found.title, found.author) == ("A Book", "")


def test_title_and_author_are_those_of_the_tags(tmp_path: Path) -> None:
    found = local_book.find(SOUP)
    assert (found.title, found.author) == ("Stone Soup", "Folk Tales")
    (one,) = sorted((SOUP.parent / "Aesop").rglob("*.m4b"))
    alone = tmp_path / "renamed.m4b"
    shutil.copyfile(one, alone)
    assert local_book.find(alone).title == "Three Fables"


def test_a_path_without_audio_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoBook, match="There are no audio files below"):
        local_book.find(tmp_path)
    with pytest.raises(NoBook, match="There is nothing at"):
        local_book.find(tmp_path / "gone.mp3")


# ---- progress


def test_without_a_terminal_each_step_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with watching.Watching("A Book") as seen:
        rooms: Any = None
        seen.saw(rooms, "probe", "Downloading the speech model 1 %", None, None)
        seen.saw(rooms, "probe", "Downloading the speech model 2 %", None, None)
        seen.saw(rooms, "transcribe", "Transcribing, 3.0 times as fast", 1, 2)
        seen.saw(rooms, "transcribe", "Transcribing, 4.0 times as fast", 2, 2)
    said = capsys.readouterr()
    assert said.err == "Downloading the speech model …\nTranscribing …\n"
    assert said.out == ""
