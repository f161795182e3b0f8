"""The kind `transcribe.book` from a job's parameters to its result, on stand-ins."""

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from bridge_agent.jobs.handlers import transcribe
from bridge_agent.jobs.handlers.asking import BookUnknown
from bridge_agent.jobs.handlers.base import AttentionNeeded, Done, Failed
from bridge_agent.jobs.handlers.transcribe_params import BadParams
from bridge_agent.jobs.handlers.transcribe_source import FilesMissing
from bridge_agent.link.errors import NotHeld, Rejected, ServerAway
from bridge_agent.protocol.bridge import Book, BookFile
from bridge_agent.settings import BridgeSettings
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.engines.errors import EngineDied
from bridge_agent.transcription.pipeline import troubles
from tests.fakes.clock import FakeClock
from tests.unit.transcribe.rig import Rig

NAMES = ["transcript.json", "transcript.vtt", "transcript.srt", "transcript.txt"]


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock):
    made = await Rig(tmp_path, clock).open()
    made.book(one="ab", two="cd")
    yield made
    await made.close()


async def test_a_book_goes_through_all_steps_to_its_result(rig: Rig):
    result = await rig.done()
    assert rig.steps == ["mapping", "lookup", "stat", "probe", "plan", "transcribe", "assemble", "upload"]
    messages = {progress.step: progress.message for progress in rig.said}
    assert messages["probe"] == "Reading the audio"
    assert messages["plan"] == "Finding the pauses"
    assert messages["transcribe"].startswith("Transcribing")
    artifacts = result.pop("artifacts")
    assert result == {
        "library_id": 1,
        "path": "A/B",
        "title": "The Book",
        "language": "en",
        "duration_seconds": 600.0,
        "parts": 4,
        "segments": 4,
        "words": 4,
        "engine": {"name": "fake", "model": "tiny", "device": "cpu", "compute_type": "int8"},
        "seconds_spent": pytest.approx(43, abs=6),
        "speed": pytest.approx(14, abs=2),
        "reused_parts": 0,
        "workers": [{"name": "fake", "parts": 4, "audio_seconds": 600.0}],
        "gaps": [],
        "gaps_total": 0,
        "warnings": [],
        "warnings_total": 0,
    }
    assert [a["name"] for a in artifacts] == NAMES
    assert {a["stored"] for a in artifacts} == {"server"}
    for artifact in artifacts:
        kind, raw = rig.server.artifacts[1, 1, artifact["name"]]
        assert (kind, hashlib.sha256(raw).hexdigest(), len(raw)) == (
            artifact["content_type"],
            artifact["sha256"],
            artifact["size_bytes"],
        )


async def test_the_transcript_names_files_within_the_book_and_nothing_of_this_machine(rig: Rig):
    await rig.done()
    raw = rig.server.artifacts[1, 1, "transcript.json"][1]
    assert [file["path"] for file in json.loads(raw)["files"]] == ["one.mp3", "two.mp3"]
    assert str(rig.library).encode() not in raw


async def test_a_second_press_is_done_at_once_from_the_transcript_that_exists(rig: Rig):
    first = await rig.done()
    rig.said.clear()
    began = rig.clock.monotonic()
    second = await rig.done(job_id=2)
    assert rig.clock.monotonic() - began < 10
    assert "transcribe" not in rig.steps
    assert second["reused_parts"] == 4
    assert [a["sha256"] for a in second["artifacts"]] == [a["sha256"] for a in first["artifacts"]]
    assert (2, 1, "transcript.json") in rig.server.artifacts
    assert sum(rig.pipe.executor.heard.values()) == 4


async def test_other_settings_are_another_transcript(rig: Rig):
    await rig.done()
    await rig.done(job_id=2, quality="accurate")
    assert sum(rig.pipe.executor.heard.values()) == 8
    assert rig.pipe.executor.contexts[-1].quality == "accurate"


async def test_force_does_it_again_but_not_what_this_job_has_done(rig: Rig):
    await rig.done()
    running = await rig.begin(job_id=2, force=True)
    await rig.pass_until(lambda: sum(rig.pipe.executor.heard.values()) == 6)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    result = await rig.done(job_id=2, attempt=2, force=True)
    assert sum(rig.pipe.executor.heard.values()) == 8
    assert result["parts"] == 4


async def test_a_job_that_is_taken_again_as_a_new_one_uses_what_is_finished(rig: Rig):
    running = await rig.begin(job_id=1)
    await rig.pass_until(lambda: sum(rig.pipe.executor.heard.values()) == 2)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await rig.pipe.pipeline.start()
    result = await rig.done(job_id=9)
    assert result["reused_parts"] == 2
    assert sum(rig.pipe.executor.heard.values()) == 4


async def test_a_part_that_falls_fails_the_job_with_its_place(rig: Rig):
    rig.pipe.executor.always_fail[2] = EngineDied("It ran out of memory: choose a smaller model.")
    outcome = await rig.run()
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith("The part of “The Book” from 5:00 to 7:30 could not be transcribed")
    assert "The 3 finished of 4 parts are kept" in outcome.error
    rig.pipe.executor.always_fail.clear()
    result = await rig.done(job_id=2)
    assert result["reused_parts"] == 3


async def test_a_server_without_the_route_leaves_the_files_here(rig: Rig):
    rig.server.always = Rejected(404, "not_found", "No such route.")
    result = await rig.done()
    assert {a["stored"] for a in result["artifacts"]} == {"bridge"}
    (kept,) = (await rig.transcripts.list()).transcripts
    assert (await rig.transcripts.artifact(kept.id, "transcript.vtt")) is not None
    assert result["warnings"] == []


async def test_a_file_that_the_server_refuses_stays_here_and_is_warned_of(rig: Rig):
    rig.server.refusals = [Rejected(413, "too_large", "Too large.")]
    result = await rig.done()
    assert [a["stored"] for a in result["artifacts"]] == ["bridge", "server", "server", "server"]
    assert result["warnings"] == [
        "The server did not take transcript.json (Too large.); it is kept on the Bridge."
    ]


async def test_a_server_that_is_away_is_waited_for(rig: Rig):
    rig.server.refusals = [ServerAway(retry_after=20.0), ServerAway()]
    result = await rig.done()
    assert {a["stored"] for a in result["artifacts"]} == {"server"}


async def test_nothing_is_sent_while_the_lease_is_not_trusted(rig: Rig):
    rig.trusted = lambda: False
    running = await rig.begin()
    await rig.pass_until(lambda: rig.steps[-1:] == ["upload"])
    await rig.pipe.pass_time(30)
    assert rig.server.artifacts == {}
    rig.trusted = lambda: True
    assert isinstance(await rig.end(running), Done)
    assert len(rig.server.artifacts) == 4


async def test_a_claim_that_is_lost_ends_the_sending(rig: Rig):
    rig.server.always = NotHeld("queued")
    running = await rig.begin()
    with pytest.raises(NotHeld):
        await rig.end(running)


async def test_beside_the_book_only_when_its_owner_wants_that(tmp_path: Path, clock: FakeClock, rig: Rig):
    before = sorted(p.name for p in (rig.library / "A" / "B").iterdir())
    await rig.done()
    assert sorted(p.name for p in (rig.library / "A" / "B").iterdir()) == before
    (tmp_path / "second").mkdir()
    wanted = await Rig(tmp_path / "second", clock, transcripts_beside_books=True).open()
    wanted.book(one="a")
    await wanted.done()
    found = sorted(p.name for p in (wanted.library / "A" / "B").iterdir())
    assert found == sorted(["one.mp3", *(f"B.{name}" for name in NAMES)])
    for name in NAMES:
        assert (wanted.library / "A" / "B" / f"B.{name}").read_bytes() == wanted.server.artifacts[1, 1, name][
            1
        ]
    await wanted.close()


async def test_a_folder_that_refuses_is_only_warned_of(tmp_path: Path, clock: FakeClock):
    wanted = await Rig(tmp_path, clock, transcripts_beside_books=True).open()
    wanted.book(one="a")
    (wanted.library / "A" / "B" / "B.transcript.json").mkdir()
    result = await wanted.done()
    assert "could not be written beside the book" in result["warnings"][0]
    await wanted.close()


async def test_a_library_that_is_not_seen_needs_attention_until_it_is(rig: Rig):
    rig.library.rename(rig.library.with_name("gone"))
    running = await rig.begin()
    with pytest.raises(AttentionNeeded, match="does not see the library now") as caught:
        await rig.end(running)
    looking = await rig.mended(caught.value)
    await rig.pipe.pass_time(30)
    assert not looking.done()
    rig.library.with_name("gone").rename(rig.library)
    await rig.pass_until(looking.done)
    assert isinstance(await rig.run(), Done)


async def test_a_library_unmounted_in_the_middle_needs_attention_then_goes_on_by_itself(rig: Rig):
    rig.book(one="abcdefghij")
    running = await rig.begin()
    await rig.pass_until(lambda: sum(rig.pipe.executor.heard.values()) == 1)
    rig.library.rename(rig.library.with_name("gone"))
    with pytest.raises(AttentionNeeded, match="check that its drive is connected") as caught:
        await rig.end(running)
    looking = await rig.mended(caught.value)
    await rig.pipe.pass_time(30)
    assert not looking.done()
    rig.library.with_name("gone").rename(rig.library)
    await rig.pass_until(looking.done)
    result = await rig.done()
    assert sum(rig.pipe.executor.heard.values()) == 10
    assert result["parts"] == 10


async def test_a_disk_that_is_full_when_the_transcript_is_kept_needs_attention(rig: Rig, monkeypatch):
    full = [True]
    real = rig.transcripts.keep

    async def keep(*given: object) -> object:
        if full[0]:
            raise StoreFull
        return await real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(rig.transcripts, "keep", keep)
    monkeypatch.setattr(troubles, "_has_room", lambda folder: not full[0])
    running = await rig.begin()
    with pytest.raises(AttentionNeeded, match="free some space") as caught:
        await rig.end(running)
    looking = await rig.mended(caught.value)
    await rig.pipe.pass_time(30)
    assert not looking.done()
    full[0] = False
    await rig.pass_until(looking.done)
    await rig.done()
    assert sum(rig.pipe.executor.heard.values()) == 4


async def test_nobody_to_do_it_needs_attention_until_somebody_comes(rig: Rig):
    rig.pipe.executor.places = 0
    rig.pipe.executor.why = "BRIDGE_SPEECH_PROCESSES is 0: invite a worker."
    running = await rig.begin()
    with pytest.raises(AttentionNeeded, match="invite a worker") as caught:
        await rig.end(running)
    looking = await rig.mended(caught.value)
    rig.pipe.executor.places = 1
    await rig.pass_until(looking.done)


async def test_files_that_are_missing_fail_the_job_with_the_first_one_s_name(rig: Rig):
    (rig.library / "A" / "B" / "two.mp3").unlink()
    running = await rig.begin()
    with pytest.raises(FilesMissing, match=r"1 of the book’s 2 files .* A/B/two.mp3 \(not found here\)"):
        await rig.end(running)


async def test_a_file_of_another_size_is_transcribed_as_it_is_and_warned_of(rig: Rig):
    (rig.library / "A" / "B" / "two.mp3").write_text("cde")
    result = await rig.done()
    assert result["parts"] == 5
    assert result["warnings"] == [
        "A/B/two.mp3 is not as the server has scanned it (size differs: 3 bytes here, 2 on the server); "
        "it was transcribed as it is here."
    ]


async def test_a_book_of_one_file_in_a_shared_folder(tmp_path: Path, clock: FakeClock):
    rig = await Rig(tmp_path, clock, transcripts_beside_books=True).open()
    (rig.library / "A").mkdir(parents=True)
    (rig.library / "A" / "Solo.m4b").write_text("ab")
    rig.server.answer = Book(
        library_id=1,
        path="A/Solo.m4b",
        title="Solo",
        author="",
        files=[BookFile(path="A/Solo.m4b", size=2)],
        chapters=[],
    )
    await rig.done()
    assert sorted(p.name for p in (rig.library / "A").iterdir()) == sorted(
        ["Solo.m4b", *(f"Solo.{name}" for name in NAMES)]
    )
    assert json.loads(rig.server.artifacts[1, 1, "transcript.json"][1])["files"][0]["path"] == "Solo.m4b"
    await rig.close()


async def test_a_book_that_the_server_does_not_know_any_more(rig: Rig):
    rig.server.answer = Rejected(404, "not_found", "No such book.")
    running = await rig.begin()
    with pytest.raises(BookUnknown, match="scan the library"):
        await rig.end(running)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"language": "english"}, "two letters"),
        ({"quality": "best"}, "balanced"),
        ({"word_timestamps": "yes"}, "not right"),
        ({"prompt": "x" * 1025}, "at most 1 KiB"),
        ({"model": "no-such-model"}, "knows no speech model"),
        ({"model": "/etc/passwd"}, "knows no speech model"),
        ({"model": "~/model"}, "knows no speech model"),
    ],
)
async def test_parameters_that_are_not_right_fail_the_job(rig: Rig, params, says):
    with pytest.raises(BadParams, match=says):
        await rig.run(**params)


@pytest.mark.parametrize("params", [{"model": "small"}, {"language": "de", "force": False}, {"new": 1}])
async def test_parameters_that_are_right(rig: Rig, params):
    assert isinstance(await rig.run(**params), Done)


async def test_prompt_and_author_are_listened_for(rig: Rig):
    await rig.done(prompt="Frodo, Bree")
    assert rig.pipe.executor.contexts[0].hints == ("Frodo", "Bree", "An Author")


@pytest.mark.parametrize(
    ("settings", "is_offered"),
    [
        ({"speech_processes": 0}, True),
        ({"speech_server": "http://127.0.0.1:9"}, True),
        ({"speech_model": "scripted"}, True),
    ],
)
def test_it_is_offered_with_an_engine_or_where_workers_do_it(tmp_path, settings, is_offered):
    assert transcribe.offered(BridgeSettings(data_dir=tmp_path, **settings)) == is_offered


def test_it_is_not_offered_without_an_engine(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not transcribe.offered(BridgeSettings(data_dir=tmp_path))
