"""Models by name and by folder: downloaded once, resumed, checked, offline afterwards."""

import asyncio
import hashlib
import json
import re

import msgspec
import pytest

from bridge_agent.base.errors import ExitCode
from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.models import catalogue, fetch, folders
from bridge_agent.transcription.models.errors import BrokenModel, DownloadFailed, UnknownModel
from bridge_agent.transcription.models.models import Models
from tests.fakes.hub import FakeHub

FILES = {
    "config.json": b'{"lang_ids": [1]}',
    "tokenizer.json": b'{"version": "1.0"}',
    "vocabulary.txt": b"the\na\n",
    "model.bin": hashlib.shake_128(b"weights").digest(700_000),
    "README.md": b"not wanted",
}


@pytest.fixture
async def tasks():
    running = Tasks("test")
    yield running
    await running.cancel()


@pytest.fixture
def quick_order(monkeypatch):
    """Let the child pause for a moment only between its tries."""
    order = fetch.Order

    def quicker(**kwargs):
        return order(**kwargs, pause=0.01, tries=3)

    monkeypatch.setattr(fetch, "Order", quicker)


def models_of(tmp_path, tasks, hub):
    return Models(tmp_path / "models", tasks, hub=hub.url)


def model_at(folder, **changed):
    folder.mkdir(parents=True)
    for name, content in (FILES | changed).items():
        if content is not None:
            (folder / name).write_bytes(content)
    return folder


async def test_a_model_is_downloaded_once_with_progress_and_found_without_the_network(tmp_path, tasks):
    seen = []
    async with FakeHub(FILES) as hub:
        found = await models_of(tmp_path, tasks, hub).get(
            "tiny", lambda done, total: seen.append((done, total))
        )
    total = sum(len(content) for name, content in FILES.items() if name != "README.md")
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)
    assert (found.id, found.path) == ("tiny", tmp_path / "models" / "tiny")
    assert (found.path / "model.bin").read_bytes() == FILES["model.bin"]
    assert sorted(each.name for each in (tmp_path / "models").iterdir()) == ["tiny"]
    assert not (found.path / "README.md").exists()
    # The hub is gone.
    assert await models_of(tmp_path, tasks, hub).get("tiny") == found


async def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path, tasks, quick_order):
    async with FakeHub(FILES, drop_after=200_000, drops=3) as hub:
        found = await models_of(tmp_path, tasks, hub).get("tiny")
    assert (found.path / "model.bin").read_bytes() == FILES["model.bin"]
    ranges = [wanted for name, wanted in hub.asked if name == "model.bin"]
    assert ranges[0] == ""
    starts = [int(wanted.removeprefix("bytes=").rstrip("-")) for wanted in ranges[1:]]
    assert len(starts) == 3
    assert starts == sorted(starts)
    assert starts[0] > 0


async def test_a_download_that_was_killed_goes_on_at_the_next_start(tmp_path, tasks, quick_order):
    async with FakeHub(FILES, pause=0.02) as hub:
        running = asyncio.ensure_future(models_of(tmp_path, tasks, hub).get("tiny"))
        partial = tmp_path / "models" / "tiny.partial" / "model.bin.partial"
        while not (partial.exists() and partial.stat().st_size > 100_000):
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await tasks.cancel()
        kept = partial.stat().st_size
        hub.pause = 0
        found = await models_of(tmp_path, tasks, hub).get("tiny")
    assert (found.path / "model.bin").read_bytes() == FILES["model.bin"]
    last = [wanted for name, wanted in hub.asked if name == "model.bin"][-1]
    assert int(last.removeprefix("bytes=").rstrip("-")) >= min(kept, 100_000)


async def test_a_hub_without_ranges_sends_it_all_again(tmp_path, tasks, quick_order):
    async with FakeHub(FILES, drop_after=200_000, drops=1, knows_ranges=False) as hub:
        found = await models_of(tmp_path, tasks, hub).get("tiny")
    assert (found.path / "model.bin").read_bytes() == FILES["model.bin"]


async def test_a_busy_hub_is_asked_again(tmp_path, tasks, quick_order):
    async with FakeHub(FILES, busy=2) as hub:
        assert (await models_of(tmp_path, tasks, hub).get("tiny")).id == "tiny"


async def test_a_damaged_file_is_fetched_once_more(tmp_path, tasks, quick_order):
    async with FakeHub(FILES, damaged=1) as hub:
        found = await models_of(tmp_path, tasks, hub).get("tiny")
    assert (found.path / "model.bin").read_bytes() == FILES["model.bin"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"damaged": 9}, "model.bin .* came damaged twice"),
        ({"says_size": 600_000}, "more bytes than the hub names"),
        ({"says_size": 800_000}, "ended early"),
        ({"drop_after": 0, "drops": 99}, "The download broke off"),
        ({"listing_status": 404}, r"has no model .* to give \(status 404\)"),
        ({"listing_status": 500}, "The hub can't be reached"),
        ({"files": {"config.json": b"{}"}}, "holds no model.bin"),
    ],
)
async def test_what_can_not_be_downloaded_is_said_and_nothing_counts_as_installed(
    tmp_path, tasks, quick_order, wrong, sentence
):
    async with FakeHub(**({"files": FILES} | wrong)) as hub:
        models = models_of(tmp_path, tasks, hub)
        with pytest.raises(DownloadFailed, match=sentence) as failed:
            await models.get("tiny")
        assert await models.find("tiny") is None
    lasting = "has no model" in sentence or "holds no" in sentence
    assert failed.value.exit_code is (ExitCode.FAILED if lasting else ExitCode.TRY_LATER)


async def test_no_way_to_the_hub_is_one_sentence_with_the_next_step(tmp_path, tasks, quick_order, caplog):
    models = Models(tmp_path, tasks, hub="http://127.0.0.1:1")
    with pytest.raises(DownloadFailed, match="check this machine's way to .* or set BRIDGE_SPEECH_MODEL"):
        await models.get("tiny")
    # That it takes a while is said at once; the sentence itself is the caller's to tell.
    [only] = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert re.fullmatch(
        r"The hub can't be reached \(.*refused.*\); it is tried again for a while\.", only.message
    )
    assert only.exc_info is None


async def test_two_who_want_one_model_share_its_download(tmp_path, tasks):
    async with FakeHub(FILES, pause=0.005) as hub:
        models = models_of(tmp_path, tasks, hub)
        first = asyncio.ensure_future(models.get("tiny"))
        second = asyncio.ensure_future(models.get("tiny"))
        await asyncio.sleep(0.1)
        first.cancel()
        assert (await second).id == "tiny"
    assert [each for each in hub.asked if each[0] == "listing"] == [("listing", "")]


async def test_a_downloaded_model_that_lost_bytes_is_downloaded_again(tmp_path, tasks):
    async with FakeHub(FILES) as hub:
        models = models_of(tmp_path, tasks, hub)
        found = await models.get("tiny")
        (found.path / "model.bin").write_bytes(b"half")
        with pytest.raises(BrokenModel, match=r"model\.bin .* has 4 bytes instead of 700000"):
            await models.find("tiny")
        found = await models.get("tiny")
    assert (found.path / "model.bin").read_bytes() == FILES["model.bin"]


async def test_a_folder_is_named_by_its_last_name_and_its_content(tmp_path, tasks):
    models = Models(tmp_path / "models", tasks, hub="http://127.0.0.1:1")
    one = await models.get(str(model_at(tmp_path / "a" / "mine")))
    same = await models.get(str(model_at(tmp_path / "b" / "mine")))
    other = await models.get(str(model_at(tmp_path / "c" / "mine", **{"model.bin": b"other"})))
    assert one.id == same.id
    assert one.id.startswith("mine-")
    assert other.id != one.id


@pytest.mark.parametrize("name", ["config.json", "model.bin", "tokenizer.json"])
async def test_a_folder_that_lacks_a_file_says_which(tmp_path, tasks, name):
    folder = model_at(tmp_path / "mine", **{name: None})
    with pytest.raises(BrokenModel, match=f"lacks the file {name}"):
        await Models(tmp_path, tasks).get(str(folder))


async def test_a_folder_with_a_cut_off_file_says_which(tmp_path, tasks):
    folder = model_at(tmp_path / "mine", **{"tokenizer.json": b'{"version'})
    with pytest.raises(BrokenModel, match=r"tokenizer\.json .* is cut off or damaged"):
        await Models(tmp_path, tasks).get(str(folder))
    with pytest.raises(BrokenModel, match="vocabulary"):
        await Models(tmp_path, tasks).get(str(model_at(tmp_path / "other", **{"vocabulary.txt": None})))
    with pytest.raises(BrokenModel, match="is not there"):
        await Models(tmp_path, tasks).get(str(tmp_path / "nowhere"))


async def test_a_name_is_one_of_the_catalogue_or_installed_here_and_never_a_path(tmp_path, tasks):
    models = Models(tmp_path, tasks)
    assert models.known("small")
    assert models.known("large-v3")
    assert not models.known("mine")
    model_at(tmp_path / "mine")
    assert models.known("mine")
    assert (await models.get("mine")).id == "mine"
    for name in ("../mine", str(tmp_path / "mine"), ".", "..", "", "mine.partial"):
        assert not models.known(name), name
    with pytest.raises(UnknownModel, match="No speech model is named “huge”; choose one of tiny"):
        await models.get("huge")


def test_the_catalogue_is_that_of_faster_whisper():
    utils = pytest.importorskip("faster_whisper.utils")
    assert catalogue.REPOSITORIES == utils._MODELS


def test_a_content_hash_is_remembered_until_a_file_changes(tmp_path):
    folder, notes = model_at(tmp_path / "mine"), tmp_path / "new" / "hashes.json"
    first = folders.content_hash(folder, notes)
    kept = json.loads(notes.read_text())
    assert list(kept.values()) == [first]
    notes.write_text(json.dumps(dict.fromkeys(kept, "remembered")))
    assert folders.content_hash(folder, notes) == "remembered"
    (folder / "model.bin").write_bytes(b"other")
    assert folders.content_hash(folder, notes) not in (first, "remembered")


def test_too_little_room_is_said_before_the_download(tmp_path, monkeypatch):
    order = fetch.Order(hub="http://x", repository="a/b", folder=str(tmp_path / "m"))
    download = fetch.Download(order, lambda step: None, lambda seconds: None)
    download._aside.mkdir()
    with pytest.raises(fetch.Failed, match=r"needs \d+ MiB more, but only \d+ MiB are free"):
        download._need_room(10**18)


def test_a_manifest_survives_its_file():
    manifest = folders.Manifest(
        repository="a/b", revision="1", files=(folders.KeptFile(name="x", size=1, sha256=""),)
    )
    assert msgspec.json.decode(msgspec.json.encode(manifest), type=folders.Manifest) == manifest
