"""Two Bridges with one copied data folder: restarts are nothing special, the one that came second is told."""

import pytest

from bridge_agent.home.copies import Copied, Runs


def heard(runs: Runs, *names: str, token: str = "t") -> list[str]:
    """Return which heartbeats were refused as a copy's."""
    refused = []
    for name in names:
        try:
            runs.heard(token, name)
        except Copied:
            refused.append(name)
    return refused


def test_a_bridge_may_start_again_as_often_as_it_likes():
    assert heard(Runs(), "a", "a", "b", "b", "c", "d") == []


def test_when_an_earlier_run_is_heard_again_the_later_one_is_the_copy():
    assert heard(Runs(), "a", "copy", "a", "copy", "a", "copy") == ["copy", "copy"]


def test_the_original_may_start_again_while_its_copy_is_refused():
    assert heard(Runs(), "a", "copy", "a", "b", "copy", "b") == ["copy"]


def test_a_new_pairing_begins_anew():
    runs = Runs()
    heard(runs, "a", "copy", "a")
    assert heard(runs, "copy", token="another") == []


def test_the_refusal_says_what_to_do():
    runs = Runs()
    heard(runs, "a", "copy", "a")
    with pytest.raises(Copied, match="pair it itself"):
        runs.heard("t", "copy")
