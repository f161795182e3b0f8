"""Workers in plain words, state by state."""

from pathlib import Path
from typing import Any

import pytest

from bridge_agent.page import views_workers
from bridge_agent.settings import BridgeSettings
from tests.fakes import speech

HERE = "this computer"
ON = {"title": "Emma", "part": 3}


def worker(name: str = "gpu", state: str = "idle", **more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "name": name,
        "state": state,
        "reason": None,
        "model": None,
        "engine": None,
        "device": None,
        "seconds_per_second": None,
        "on": [],
        "last_seen_at": None,
        **more,
    }


@pytest.mark.parametrize(
    ("workers", "told"),
    [
        ([], ("off", "No other machine takes part yet.")),
        ([worker(state="offline")], ("off", "No worker is here now.")),
        ([worker(), worker("b", "offline")], ("ok", "One worker ready.")),
        ([worker(state="working"), worker("b", "working")], ("on", "Two workers at work.")),
        ([worker(state="parked"), worker("b", "working")], ("warn", "gpu is parked.")),
        ([worker(state="paused"), worker("b", "offline")], ("off", "gpu is paused.")),
        ([worker(state="paused"), worker("b")], ("ok", "One worker ready.")),
        ([worker(state="paused", on=[ON])], ("on", "gpu is paused. It ends what is begun.")),
        (
            [worker(state="paused", on=[ON]), worker("b", "paused")],
            ("on", "Two workers are paused. They end what is begun."),
        ),
        ([worker(state="parked"), worker("b", "parked")], ("warn", "Two workers are parked.")),
    ],
)
def test_the_largest_sentence_names_what_matters_most(workers: list[dict[str, Any]], told: tuple[str, str]):
    assert views_workers.head(workers, None, "http://x:1")[:2] == told


def test_a_listener_that_can_not_listen_comes_before_everything():
    told = views_workers.head([worker(state="working")], "The port is taken; choose another.", None)
    assert told == ("bad", "Workers can’t reach this Bridge.", "The port is taken; choose another.")


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([("Emma", 3)], ("Part 3 of Emma",)),
        ([("Emma", 4), ("Emma", 3)], ("Parts 3 and 4 of Emma",)),
        ([("Emma", 3), ("Emma", 4), ("Emma", 9), ("", 1)], ("Parts 3, 4 and 9 of Emma", "Part 1 of a book")),
    ],
)
def test_what_a_worker_is_on_is_told_by_book(parts: list[tuple[str, int]], told: tuple[str, ...]):
    on = [{"title": title, "part": part} for title, part in parts]
    assert views_workers.row(worker(state="working", on=on)).on == told


def test_what_is_not_known_of_a_worker_is_left_out():
    assert views_workers.row(worker()).facts == ()
    assert views_workers.row(worker(model="small")).facts == ("model small",)
    known = worker(engine="faster-whisper", model="small", device="cpu", seconds_per_second=3.26)
    assert views_workers.row(known).facts == ("faster-whisper small", "CPU", "3.3 s of audio a second")


@pytest.mark.parametrize("state", ["idle", "working", "offline", "paused", "parked"])
def test_every_state_is_a_word_with_a_mark_and_can_be_turned(state: str):
    row = views_workers.row(worker(state=state))
    assert row.tag.mark
    assert row.tag.word
    assert row.can_resume == (state in ("paused", "parked")) != row.can_pause


@pytest.mark.parametrize("state", ["idle", "working", "parked"])
def test_what_keeps_a_worker_from_its_work_stands_on_its_row(state: str):
    row = views_workers.row(
        worker(state=state, reason="it gives its parts back and says “No model is here.”")
    )
    assert row.trouble == "It gives its parts back and says “No model is here.”"
    assert views_workers.row(worker(state=state)).trouble == ""


def test_this_computer_says_what_it_is_on_and_how_fast(tmp_path: Path):
    pipeline = speech.FakePipeline()
    pipeline.book("s/1", title="Emma", at_work={HERE: 2, "gpu": 1}, speeds={HERE: 12.4, "gpu": 50.0})
    row = views_workers.this_computer(speech.speech(pipeline), BridgeSettings(data_dir=tmp_path))
    assert row.id is None
    assert row.tag.word == "Working"
    assert row.on == ("Two parts of Emma",)
    assert row.facts[-1] == "12 s of audio a second"


def test_this_computer_without_an_engine_says_why(tmp_path: Path):
    rested = views_workers.this_computer(None, BridgeSettings(data_dir=tmp_path))
    assert (rested.tag.word, rested.can_pause) == ("No engine", False)
    assert rested.facts[0]
