"""The small pure pieces: packing, frames, ladder, limits, deaths, languages, loudness, scripts."""

import asyncio
import signal
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.base import children, frames
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.engines import (
    deaths,
    ladder,
    languages,
    loudness,
    protocol,
    scripted,
    wishes,
)
from bridge_agent.transcription.engines.base import Context, Fit, Setup
from bridge_agent.transcription.engines.errors import OutOfMemory, not_installed
from bridge_agent.transcription.engines.limits import GIB, Limits, Speed
from bridge_agent.transcription.engines.packing import Packing, joined, padded
from bridge_agent.transcription.model import RATE, Span
from tests.unit.transcription_engines.sounds import babble, noise, silence, tone


def spans(*pairs):
    return [Span(start=start, end=end) for start, end in pairs]


def test_packing_and_back():
    packing = Packing(spans((100, 200), (500, 600)))
    assert packing.samples == 200
    assert packing.back(10, 90) == (110, 190)
    assert packing.back(110, 150) == (510, 550)
    # The middle decides, and a word never leaves its span.
    assert packing.back(95, 140) == (500, 540)
    assert packing.back(40, 120) == (140, 200)
    assert packing.back(150, 300) == (550, 600)
    assert packing.back_apart(50, 150) == (150, 550)
    assert packing.back_apart(0, 100) == (100, 200)
    assert packing.back_apart(100, 200) == (500, 600)


def test_windows_hold_whole_spans():
    packing = Packing(spans((0, 10), (20, 30), (40, 55), (60, 100), (110, 115)))
    assert packing.windows(25) == spans((0, 20), (20, 35), (35, 75), (75, 80))
    assert Packing([]).windows(25) == []


def test_padding_halves_a_short_pause_and_stays_within_the_part():
    assert padded(spans((5, 20), (26, 40), (100, 110)), 10, 115) == spans((0, 23), (23, 50), (90, 115))
    assert padded([], 10, 50) == []


def test_joining_over_short_pauses():
    assert joined(spans((0, 10), (15, 20), (40, 50)), 10) == spans((0, 20), (40, 50))


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(1, 500)), min_size=1, max_size=8), st.data())
def test_the_way_back_ends_within_a_span(lengths, data):
    found, at = [], 0
    for pause, length in lengths:
        found.append(Span(start=at + pause, end=at + pause + length))
        at += pause + length
    packing = Packing(found)
    start = data.draw(st.integers(0, packing.samples))
    end = data.draw(st.integers(start, packing.samples))
    first, last = packing.back(start, end)
    assert any(span.start <= first <= last <= span.end for span in found)
    windows = packing.windows(200)
    assert sum(window.samples for window in windows) == packing.samples


def test_frames_there_and_back():
    request = protocol.Transcribe(id=3, pcm=b"\0\1" * 10, context=Context(hints=("Anne",)))
    pipe = BytesIO(frames.pack(request) + frames.pack(protocol.Cancel(id=3)))
    assert frames.read(pipe, protocol.requests) == request
    assert frames.read(pipe, protocol.requests) == protocol.Cancel(id=3)
    assert frames.read(pipe, protocol.requests) is None


@pytest.mark.parametrize("bytes_in", [b"\xff\xff\xff\xffrest", b"\0\0\0\2{}"])
def test_what_is_no_frame_is_refused(bytes_in):
    with pytest.raises(frames.BadFrame):
        frames.read(BytesIO(bytes_in), protocol.requests)


async def test_a_reply_that_breaks_off_is_the_end():
    pipe = asyncio.StreamReader()
    pipe.feed_data(frames.pack(protocol.Pulse(cpu_seconds=1.0, resident=5)) + b"\0\0\1")
    pipe.feed_eof()
    assert await frames.receive(pipe, protocol.replies) == protocol.Pulse(cpu_seconds=1.0, resident=5)
    assert await frames.receive(pipe, protocol.replies) is None


def test_the_ladder_of_a_processor_and_of_a_gpu():
    cpu = Fit(device="cpu", compute_type="int8", batch=4)
    assert ladder.rungs(cpu) == [cpu, cpu, Fit(device="cpu", compute_type="int8", batch=1)]
    gpu = Fit(device="cuda", compute_type="float16", batch=8)
    shown = [(fit.device, fit.compute_type, fit.batch) for fit in ladder.rungs(gpu)]
    assert shown == [
        ("cuda", "float16", 8),
        ("cuda", "float16", 8),
        ("cuda", "float16", 2),
        ("cuda", "float16", 1),
        ("cuda", "int8", 1),
        ("cpu", "int8", 1),
    ]
    assert ladder.rungs(gpu, adjustable=False) == [gpu, gpu]


def test_the_deadline_grows_with_the_part_and_shrinks_with_the_speed():
    limits = Limits()
    assert limits.deadline(150 * RATE, 10.0) == 120.0
    assert limits.deadline(150 * RATE, 2.0) == 600.0
    assert limits.deadline(150 * RATE, None) == 3000.0
    assert limits.worst_case(150 * RATE, 7) > 2 * 7 * 3000


def test_the_memory_limit_follows_the_model():
    assert Limits().most_memory(145_000_000) < 2 * GIB
    assert Limits().most_memory(3 * GIB) > 7 * GIB
    assert Limits().most_memory(0, "cuda") > 5 * GIB
    assert Limits(memory=5).most_memory(3 * GIB) == 5


def test_speed_is_an_average_that_passes_over_short_parts():
    speed = Speed()
    assert speed.of("balanced") is None
    speed.measured("balanced", 5 * RATE, 0.1)
    assert speed.of("balanced") is None
    speed.measured("balanced", 100 * RATE, 10.0)
    speed.measured("balanced", 100 * RATE, 20.0)
    assert speed.of("balanced") == pytest.approx(8.5)
    assert speed.of("accurate") is None


@pytest.mark.parametrize(
    ("code", "words", "sentence"),
    [
        (-9, "", "ran out of memory: choose a smaller model"),
        (137, "", "ran out of memory: choose a smaller model"),
        (-6, "terminate called after throwing an instance of 'std::bad_alloc'", "ran out of memory"),
        (-signal.SIGABRT, "", "crashed in native code"),
        (134, "", "crashed in native code"),
        (139, "", "crashed in native code"),
        (-11, "", "crashed in native code"),
        (-6, "Could not load library libcudnn_ops_infer.so.8. Error", "libcudnn_ops_infer.so.8,"),
        (-6, "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}", "libcudnn_ops.so.9.1.0,"),
        (1, "Library libcublas.so.12 is not found or cannot be loaded", "library libcublas.so.12,"),
        (1, "Could not locate cudnn_ops64_9.dll. Please make sure", "library cudnn_ops64_9.dll,"),
        (7, "", "ended unexpectedly (exit code 7)"),
    ],
)  # fmt: skip
def test_why_a_child_died(code, words, sentence):
    error = deaths.explain(code, words, "cuda")
    assert sentence in error.message
    assert isinstance(error, OutOfMemory) == ("memory" in sentence)


def test_a_missing_library_comes_with_advice_for_the_device():
    words = "Could not load library libfoo.so.1"
    assert "BRIDGE_SPEECH_DEVICE=cpu" in deaths.explain(-6, words, "cuda").message
    assert "BRIDGE_SPEECH_DEVICE" not in deaths.explain(-6, words, "cpu").message


def test_languages_by_code_and_by_name():
    assert languages.whisper("DE-at") == "de"
    assert languages.whisper("jv") == "jw"
    assert languages.whisper("nb_NO") == "no"
    assert languages.whisper("eo") is None
    assert languages.common("jw") == "jv"
    assert [languages.named(text) for text in ("English", "en", "Haitian creole", "klingon")] == [
        "en",
        "en",
        "ht",
        "",
    ]


def test_the_languages_are_those_of_whisper():
    tokenizer = pytest.importorskip("faster_whisper.tokenizer")
    assert set(languages.NAMES) == set(tokenizer._LANGUAGE_CODES)


def test_loud_stretches():
    pcm = silence(2) + babble(3) + silence(2) + babble(3) + noise(2, 0.002)
    found = loudness.loud_spans(pcm)
    assert [(round(s.start / RATE), round(s.end / RATE)) for s in found] == [(2, 5), (7, 10)]
    assert loudness.loud_spans(silence(3)) == loudness.loud_spans(b"") == []
    assert loudness.loud_spans(tone(1.0) + b"\0") == [Span(start=0, end=RATE)]


def test_scripts_are_read_from_the_name(tmp_path):
    marker = str(tmp_path / "once")
    found = scripted.traits(f"scripted:slow=2+die@{marker}+abort?cuda")
    assert [(t.name, t.argument, t.marker, t.when) for t in found] == [
        ("slow", "2", "", ""),
        ("die", "", marker, ""),
        ("abort", "", "", "cuda"),
    ]
    assert [t.applies(Fit()) for t in found] == [True, True, False]
    assert [t.applies(Fit(device="cuda")) for t in found] == [True, False, True]
    with pytest.raises(ValueError, match="is no fit"):
        scripted.traits("scripted:die?never")


def test_wishes_from_the_settings(tmp_path):
    settings = BridgeSettings(data_dir=tmp_path, speech_server="http://nas:8000", speech_processes=3)
    wished = wishes.Wishes.of(settings)
    assert wished.engine("small") == "openai-server"
    assert wished.most_processes("server") == 3
    assert wishes.Wishes().engine("small") == "faster-whisper"
    assert wishes.Wishes().engine("scripted:die") == "scripted"


def test_as_many_children_as_cores_less_one(monkeypatch):
    monkeypatch.setattr(wishes, "physical_cores", lambda: 6)
    assert wishes.Wishes().most_processes("cpu") == 5
    assert wishes.Wishes().most_processes("cuda") == 1
    monkeypatch.setattr(wishes, "physical_cores", lambda: 1)
    assert wishes.Wishes().most_processes("cpu") == 1


def test_without_the_extra_there_is_a_sentence_with_the_command(monkeypatch):
    monkeypatch.setattr(wishes.importlib.util, "find_spec", lambda name: None)
    said = wishes.Wishes().why_none() or ""
    assert "not installed here; install it with pip install 'audiobook-bridge-agent[speech]'" in said
    assert not_installed("No module named 'av'") == said.replace("here;", "here (No module named 'av');")
    assert wishes.Wishes(server="http://nas").why_none() is None


def test_a_childs_environment_has_no_setting_of_ours():
    given_environment = {"BRIDGE_PAIR_CODE": "x", "PATH": "/bin", "PYTHONPATH": "/mine"}
    environment = children.environment(given_environment)
    assert "BRIDGE_PAIR_CODE" not in environment
    assert environment["PATH"] == "/bin"
    assert environment["PYTHONPATH"].endswith("/mine")


def test_a_setup_names_its_fit():
    assert Setup(engine="scripted", model="scripted").fit.batch == 4
