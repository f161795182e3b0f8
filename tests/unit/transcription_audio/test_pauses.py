"""Levels, pauses, places to listen."""

import numpy as np
import pytest

from bridge_agent.transcription.audio.levels import FRAME, LEVELS, Meter, decibels
from bridge_agent.transcription.audio.places import Places
from bridge_agent.transcription.audio.quiet import PauseFinder
from bridge_agent.transcription.model import RATE
from tests.fakes import odd_audio


def found(pcm, block=RATE * 2) -> tuple[PauseFinder, Places]:
    meter, pauses, places = Meter(), PauseFinder(), Places()
    for start in range(0, len(pcm), block):
        for loud in pauses.feed(meter.feed(pcm[start : start + block])):
            places.feed(loud)
    for loud in [*pauses.feed(meter.end()), *pauses.end()]:
        places.feed(loud)
    return pauses, places


def noise(seconds: float, level_db: float, seed: int = 0):
    scale = 32768 * 10 ** (level_db / 20)
    return (
        (np.random.default_rng(seed).normal(0, scale, round(seconds * RATE)))
        .clip(-32768, 32767)
        .astype(np.int16)
    )


def test_a_frame_of_full_scale_has_the_highest_level_and_silence_the_lowest():
    full = np.full(FRAME, -32768, np.int16)
    assert list(Meter().feed(np.concatenate([full, full // 10, full * 0]))) == [LEVELS, LEVELS - 40, 0]
    assert decibels(LEVELS - 40) == -20


def test_levels_do_not_depend_on_the_blocks_they_came_in():
    pcm = odd_audio.sound(20, RATE)
    once = found(pcm, len(pcm))
    assert found(pcm, 777)[0].pauses == once[0].pauses
    assert len(once[0].pauses) == 6


@pytest.mark.parametrize("floor", [-60, -45, -38])
def test_pauses_are_found_over_the_noise_of_a_room(floor):
    pcm = odd_audio.sound(120, RATE) + noise(120, floor)
    pauses = found(pcm.astype(np.int16))[0].pauses
    assert len(pauses) == 40
    assert all(abs(p.samples / RATE - odd_audio.PAUSE) < 0.1 for p in pauses)
    assert abs((pauses[0].start + pauses[0].end) / 2 / RATE - 2.8) < 0.05


def test_quiet_and_loud_chapters_are_each_judged_by_the_minutes_around_them():
    loud = odd_audio.sound(360, RATE)
    pauses = found(np.concatenate([loud, loud // 30]))[0].pauses
    assert len(pauses) == 240


def test_steady_noise_and_music_have_no_pauses():
    assert found(noise(60, -20))[0].pauses == []


def test_silence_is_one_pause_and_no_place_to_listen():
    pauses, places = found(np.zeros(100 * RATE + 5, np.int16))
    assert [(p.start, p.end) for p in pauses.pauses] == [(0, 100 * RATE + FRAME)]
    assert places.found(100 * RATE + 5) == ()


def test_a_gap_below_a_fifth_of_a_second_is_no_pause():
    pcm = noise(30, -20)
    pcm[RATE * 10 : RATE * 10 + RATE // 6] = 0
    pcm[RATE * 20 : RATE * 20 + RATE // 4] = 0
    assert len(found(pcm)[0].pauses) == 1


def test_places_to_listen_are_spread_and_prefer_speech_to_music():
    speech = odd_audio.sound(600, RATE)
    speech[: 60 * RATE] = noise(60, -20)
    starts = [place.start / RATE for place in found(speech)[1].found(len(speech))]
    assert starts == sorted(starts)
    assert len(starts) == 5
    assert starts[0] >= 50
    assert starts[-1] >= 520
