"""Artifacts: handed in by the holder, fetched by admins."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.wire.server_rig import Rig, serving

CONTENT = b'{"words": []}' * 50


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "home" / "artifacts").rglob("*") if path.is_file())


async def test_the_holder_hands_in_and_an_admin_fetches(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    put = await bridge.put_artifact(job, "transcript.json", CONTENT)
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert put.status == 200
    assert put.body == {
        "artifact_id": 1,
        "name": "transcript.json",
        "sha256": digest,
        "size_bytes": len(CONTENT),
    }
    path = f"/admin/bridge/jobs/{job['id']}/artifacts"
    listed = await house.admin.get(path)
    assert listed.body == {
        "artifacts": [
            {
                "name": "transcript.json",
                "attempt": 1,
                "content_type": "application/json",
                "sha256": digest,
                "size_bytes": len(CONTENT),
            }
        ]
    }
    got = await house.admin.get(f"{path}/transcript.json")
    assert got.raw == CONTENT
    assert got.headers["ETag"] == f'"{digest}"'
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert got.headers["Content-Disposition"] == 'attachment; filename="transcript.json"'
    assert got.headers["Content-Type"] == "application/json"
    assert got.headers["Content-Length"] == str(len(CONTENT))
    assert len(files(tmp_path)) == 1
    assert (await house.admin.get(f"{path}/other.json")).code == "not_found"
    assert (await house.admin.get("/admin/bridge/jobs/99/artifacts")).code == "not_found"


@pytest.mark.parametrize(
    ("headers", "status", "expected"),
    [
        ({"Range": "bytes=0-4"}, 206, CONTENT[:5]),
        ({"Range": "bytes=5-"}, 206, CONTENT[5:]),
        ({"Range": "bytes=-5"}, 206, CONTENT[-5:]),
        ({"Range": "bytes=0-99999"}, 206, CONTENT),
        ({"Range": "bytes=99999-"}, 416, None),
        ({"Range": "pages=1"}, 200, CONTENT),
        ({"Range": "bytes=0-4", "If-Range": '"other"'}, 200, CONTENT),
        ({"Range": "bytes=0-4", "If-Range": f'"{hashlib.sha256(CONTENT).hexdigest()}"'}, 206, CONTENT[:5]),
        ({"If-None-Match": f'"{hashlib.sha256(CONTENT).hexdigest()}"'}, 304, b""),
        ({"If-None-Match": '"other"'}, 200, CONTENT),
    ],
)
async def test_parts_and_known_copies_are_served_as_asked(
    house: Rig, headers: dict[str, str], status: int, expected: bytes | None
):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    await bridge.put_artifact(job, "a.vtt", CONTENT, kind="text/vtt")
    got = await house.admin.get(f"/admin/bridge/jobs/{job['id']}/artifacts/a.vtt", headers=headers)
    assert got.status == status
    if expected is not None:
        assert got.raw == expected
    if status == 206:
        assert got.headers["Content-Range"].endswith(f"/{len(CONTENT)}")
    if status == 416:
        assert got.headers["Content-Range"] == f"bytes */{len(CONTENT)}"


@pytest.mark.parametrize(
    ("name", "kind", "attempt", "digest"),
    [
        ("Upper.json", "application/json", "1", None),
        (".hidden", "application/json", "1", None),
        ("a" * 65, "application/json", "1", None),
        ("a%2F..%2Fb", "application/json", "1", None),
        ("a.html", "text/html", "1", None),
        ("a.json", "application/json", "", None),
        ("a.json", "application/json", "one", None),
        ("a.json", "application/json", "1", "abc"),
    ],
)
async def test_what_has_a_wrong_name_type_attempt_or_sum_is_refused(
    house: Rig, tmp_path: Path, name: str, kind: str, attempt: str, digest: str | None
):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    refused = await bridge.put_artifact({**job, "attempt": attempt}, name, CONTENT, kind=kind, sha256=digest)
    assert refused.status in (400, 404), refused
    assert files(tmp_path) == []


async def test_a_wrong_sum_keeps_nothing(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    refused = await bridge.put_artifact(job, "a.json", CONTENT, sha256="0" * 64)
    assert (refused.status, refused.code) == (400, "checksum_mismatch")
    assert files(tmp_path) == []
    listed = await house.admin.get(f"/admin/bridge/jobs/{job['id']}/artifacts")
    assert listed.body == {"artifacts": []}


async def test_the_same_bytes_again_are_welcome_and_others_are_not(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    first = await bridge.put_artifact(job, "a.json", CONTENT)
    again = await bridge.put_artifact(job, "a.json", CONTENT)
    assert (again.status, again.body) == (200, first.body)
    other = await bridge.put_artifact(job, "a.json", b"{}")
    assert (other.status, other.code) == (409, "artifact_exists")
    assert [path.read_bytes() for path in files(tmp_path)] == [CONTENT]


async def test_the_same_name_sent_twice_at_once_is_stored_once(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    answers = await asyncio.gather(*(bridge.put_artifact(job, "a.json", CONTENT) for _ in range(8)))
    assert {answer.status for answer in answers} == {200}
    assert {answer["artifact_id"] for answer in answers} == {1}
    assert len(files(tmp_path)) == 1


async def test_only_the_claim_that_holds_the_job_hands_in(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    await house.queued()
    first = await bridge.claim()
    await bridge.put_artifact(first, "old.json", CONTENT)
    await house.time.advance(121)
    second = await bridge.claim()
    refused = await bridge.put_artifact(first, "a.json", CONTENT)
    assert (refused.status, refused.code, refused["error"]["state"]) == (409, "not_held", "claimed")
    unknown = await bridge.put_artifact({"id": 99, "attempt": 1}, "a.json", CONTENT)
    assert (unknown.status, unknown.code) == (409, "not_held")
    assert (await bridge.put_artifact(second, "new.json", CONTENT)).status == 200
    names = (await house.admin.get(f"/admin/bridge/jobs/{first['id']}/artifacts"))["artifacts"]
    assert [(entry["name"], entry["attempt"]) for entry in names] == [("new.json", 2)]
    await bridge.report(second, "done")
    ended = await bridge.put_artifact(second, "late.json", CONTENT)
    assert (ended.status, ended["error"]["state"]) == (409, "done")
    assert len(files(tmp_path)) == 2


async def test_an_upload_renews_the_lease(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    await house.time.advance(110)
    await bridge.put_artifact(job, "a.json", CONTENT)
    await house.time.advance(110)
    assert (await house.job(job["id"]))["state"] == "claimed"


async def test_a_claim_lost_while_the_bytes_came_keeps_nothing(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly():
        yield CONTENT[:10]
        begun.set()
        await go_on.wait()
        yield CONTENT[10:]

    headers = {
        "X-Job-Attempt": "1",
        "Content-Type": "application/json",
        "X-Content-SHA256": hashlib.sha256(CONTENT).hexdigest(),
    }
    path = f"/bridge/jobs/{job['id']}/artifacts/a.json"
    upload = asyncio.ensure_future(bridge.call("PUT", path, data=slowly(), headers=headers))
    await begun.wait()
    await asyncio.sleep(0.05)
    await bridge.report(job, "cancelled")
    go_on.set()
    answer = await upload
    assert (answer.status, answer.code, answer["error"]["state"]) == (409, "not_held", "cancelled")
    assert files(tmp_path) == []


async def test_there_are_32_a_job_and_64_mib_each(house: Rig, tmp_path: Path):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    for number in range(32):
        assert (await bridge.put_artifact(job, f"{number}.txt", b"x", kind="text/plain")).status == 200
    more = await bridge.put_artifact(job, "32.txt", b"x", kind="text/plain")
    assert (more.status, more.code) == (400, "too_many_artifacts")
    assert (await bridge.put_artifact(job, "31.txt", b"x", kind="text/plain")).status == 200

    async def endless():
        for _ in range(65):
            yield bytes(1 << 20)

    await bridge.report(job, "done")
    await house.queued(2)
    job = await bridge.claim()
    headers = {"X-Job-Attempt": "1", "Content-Type": "text/plain", "X-Content-SHA256": "0" * 64}
    path = f"/bridge/jobs/{job['id']}/artifacts/big.txt"
    large = await bridge.call("PUT", path, data=endless(), headers=headers)
    assert (large.status, large.code) == (413, "artifact_too_large")
    assert len(files(tmp_path)) == 32


async def test_a_start_clears_up_what_a_crash_left(tmp_path: Path, clock: FakeClock):
    async with serving(tmp_path, clock) as house:
        bridge = await house.pair()
        await house.queued()
        job = await bridge.claim()
        await bridge.put_artifact(job, "a.json", CONTENT)
    artifacts = tmp_path / "home" / "artifacts"
    (artifacts / "incoming").mkdir(exist_ok=True)
    (artifacts / "incoming" / "half").write_bytes(b"x")
    (artifacts / "77" / "1").mkdir(parents=True)
    (artifacts / "77" / "1" / "gone.json").write_bytes(b"x")
    async with serving(tmp_path, clock):
        assert [path.name for path in files(tmp_path)] == ["a.json"]
