"""The worker's pure rules: leases as they are counted, appetite, trust, the shelf's order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.base.clock import to_text
from bridge_agent.base.errors import SettingsError
from bridge_agent.settings import WorkerSettings
from bridge_agent.worker.appetite import wants_more
from bridge_agent.worker.check import found
from bridge_agent.worker.hold import Stage
from bridge_agent.worker.idle import Idle
from bridge_agent.worker.lease import Lease, seconds_left
from bridge_agent.worker.shelf import Kept, Shelf
from bridge_agent.worker.trust import in_clear, trust
from tests.fakes.clock import FakeClock
from tests.unit.worker.rig import ENGINE

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
stages = st.lists(st.sampled_from(list(Stage)), max_size=8)


@given(st.floats(0.5, 7200), st.floats(1, 900), st.floats(0, 1e6))
def test_a_beat_is_due_before_half_of_the_rest_is_gone(rest, interval, began):
    lease = Lease(began, rest, interval)
    assert began < lease.beat_at < began + rest / 2
    assert lease.beat_at <= began + interval + 1e-6
    assert lease.trusted(lease.beat_at)
    assert not lease.trusted(began + rest * 0.95)


@given(st.floats(1, 3600), st.floats(0, 0.999), st.floats(-1e6, 1e6))
def test_a_lease_is_never_believed_longer_than_it_is(rest, into_the_second, ours):
    theirs = NOW + timedelta(seconds=into_the_second)
    left = seconds_left((theirs + timedelta(seconds=rest)).isoformat(), NOW, NOW + timedelta(seconds=ours))
    assert left is not None
    assert rest / 3 <= left <= rest + 1e-3


@pytest.mark.parametrize(
    ("expires", "left"),
    [
        ("2026-01-01T12:02:00Z", 120.0),
        ("2026-01-01T12:02:00.123456789Z", 120.123456),
        ("2026-01-01T13:02:00+01:00", 120.0),
        ("2026-01-01T11:59:00Z", None),
        ("2026-01-03T12:00:00Z", None),
        ("2026-01-01T12:02:00", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("soon", None),
    ],
)
def test_without_their_time_a_lease_is_counted_by_this_clock(expires, left):
    assert seconds_left(expires, None, NOW) == (None if left is None else pytest.approx(left))


@given(stages, st.integers(1, 8))
def test_a_free_place_is_always_filled_and_never_more_than_the_next_are_held(holds, places):
    unfinished = [stage for stage in holds if stage is not Stage.FINISHED]
    if len(unfinished) < places:
        assert wants_more(holds, places, None)
    if len(unfinished) >= places + 2:
        assert not wants_more(holds, places, 0.0)


def test_the_next_part_is_claimed_just_in_time():
    assert wants_more([Stage.HEARING], 1, None)
    assert wants_more([Stage.HEARING], 1, 19.0)
    assert not wants_more([Stage.HEARING], 1, 60.0)
    assert not wants_more([Stage.HEARING, Stage.FETCHING], 1, 1.0)
    assert wants_more([Stage.FINISHED, Stage.FINISHED], 1, None)


def test_however_long_there_is_no_work_the_pause_stays_in_its_bounds(clock: FakeClock):
    idle = Idle(clock)
    pauses = []
    for _ in range(5_000):
        idle.answered(found=False)
        pauses.append(idle.pause(2.0))
    assert 1.6 <= pauses[0] <= 2.4
    assert all(8.0 <= pause <= 12.0 for pause in pauses[10:])


def settings(tmp_path: Path, **more: object) -> WorkerSettings:
    return replace(WorkerSettings(data_dir=tmp_path), **more)  # type: ignore[arg-type]


def test_a_pin_goes_with_https_alone(tmp_path):
    pinned = trust(settings(tmp_path, url="https://b:1", fingerprint="ab" * 32))
    assert isinstance(pinned, aiohttp.Fingerprint)
    assert pinned.fingerprint == b"\xab" * 32
    with pytest.raises(SettingsError, match="begins with http://"):
        trust(settings(tmp_path, url="http://b:1", fingerprint="ab" * 32))
    with pytest.raises(SettingsError, match="BRIDGE_CA_FILE names"):
        trust(settings(tmp_path, url="https://b:1", ca_file=str(tmp_path / "none")))
    assert trust(settings(tmp_path, url="https://b:1")) is True


@pytest.mark.parametrize(
    ("url", "open_to_all"),
    [
        ("http://192.168.1.5:1", True),
        ("http://127.0.0.1:1", False),
        ("http://[::1]:1", False),
        ("https://b", False),
    ],
)
def test_what_everybody_can_read_is_known(url, open_to_all):
    assert in_clear(url) is open_to_all


def test_the_check_says_engine_device_disk_and_what_is_wrong():
    from bridge_agent.transcription.engines.base import Setup
    from bridge_agent.transcription.engines.pool import Prepared

    prepared = Prepared(
        setup=Setup(engine="scripted", model="m"), info=ENGINE, model_bytes=0, notes=("The GPU is not used.",)
    )
    lines = list(found(prepared, 2, "PyAV 14", 1 << 30, "http://192.168.1.5:13381"))
    assert lines[:3] == [
        "Engine: scripted 1, model scripted, on the processor in int8, 2 parts at a time.",
        "Audio: PyAV 14.",
        "Disk: 1.0 GiB free, which is little.",
    ]
    assert lines[3] == "Note: The GPU is not used."
    assert "is not encrypted" in lines[4]


def kept(number: int, at: datetime) -> Kept:
    return Kept(
        url="u",
        worker_id="w",
        task_id=str(number),
        attempt=1,
        key=f"{number:064d}"[::-1],
        content="{}",
        kept_at=to_text(at),
    )


async def test_the_shelf_forgets_what_was_lost_long_ago_and_what_can_t_be_read(tmp_path, clock: FakeClock):
    shelf = Shelf(tmp_path, clock)
    await shelf.open()
    old, new = kept(1, clock.now() - timedelta(days=8)), kept(2, clock.now())
    undelivered = kept(3, clock.now() - timedelta(days=30))
    await shelf.keep(undelivered)
    await shelf.lost(old)
    await shelf.lost(new)
    broken, foreign = tmp_path / f"{'ab' * 20}.json", tmp_path / "notes.json"
    for path in (broken, foreign):
        path.write_text("{")
    again = Shelf(tmp_path, clock)
    await again.open()
    assert sorted((one.task_id, one.lost) for one in again) == [("2", True), ("3", False)]
    assert not broken.exists()
    assert foreign.exists()
    assert again.find(new.key) is not None
    assert again.find(old.key) is None


async def test_what_can_t_be_read_just_now_stays_on_the_shelf(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
):
    shelf = Shelf(tmp_path, clock)
    await shelf.open()
    await shelf.keep(kept(1, clock.now()))
    again = Shelf(tmp_path, clock)
    with monkeypatch.context() as refusing:
        refusing.setattr(Path, "read_bytes", refuse)
        await again.open()
    assert list(again) == []
    await again.open()
    assert [one.task_id for one in again] == ["1"]


def refuse(path: Path) -> bytes:
    raise PermissionError(13, "Permission denied", str(path))
