"""Uploads: streamed, stored whole or not at all, put together by their reducers, pruned in the end."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import psutil
import pytest

from bridge_agent.store.database import StoreFull
from bridge_agent.worker_api.uploads import jobs
from bridge_agent.worker_api.uploads.files import Growing
from bridge_agent.worker_api.uploads.uploads import Limits
from tests.fakes.clock import FakeClock
from tests.wire.coordinator_rig import (
    HEADER,
    PARTIAL,
    SEARCH,
    TABLE,
    Caller,
    CoordinatorRig,
    Field,
    serving,
    sha,
)

ONE = HEADER + b"\nA\tC\n"
SEARCHED: Field = ("workload", "similarity-search")
ASKED: Field = ("parameters", SEARCH)


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[CoordinatorRig]:
    async with serving(tmp_path, clock) as rig:
        yield rig


@pytest.fixture
async def w(rig: CoordinatorRig) -> Caller:
    return await rig.worker(
        "w", "similarity-search", "similarity-search-parallel", "descriptor-batch", "molwt-filter"
    )


def table(content: bytes, name: str = "file", filename: str = "t.tsv") -> Field:
    return (name, filename, content, "text/plain")


async def test_the_file_may_be_called_dataset_and_numbers_may_have_spaces(w: Caller) -> None:
    answer = await w.upload(SEARCHED, ASKED, ("chunk_rows", " 2 "), table(TABLE, "dataset"))
    assert (answer.status, answer.body["task_count"]) == (201, 3)


async def test_max_rows_among_the_parameters_limits_nothing(w: Caller) -> None:
    answer = await w.upload(SEARCHED, ("parameters", '{"query_id":"A","max_rows":1}'), table(TABLE))
    assert answer.body["task_count"] == 1
    task = await w.claimed()
    assert task["parameters"] == {"query_id": "A"}
    assert (await w.get(task["input"]["uri"])).raw.count(b"\n") == 6


async def test_a_query_by_id_may_be_split_here(w: Caller) -> None:
    answer = await w.upload(SEARCHED, ("parameters", '{"query_id":"A"}'), ("chunk_rows", "1"), table(TABLE))
    assert (answer.status, answer.body["task_count"]) == (201, 5)


async def test_a_workload_needs_no_parameters_that_it_does_not_ask_for(w: Caller) -> None:
    assert (await w.upload(("workload", " descriptor-batch "), table(TABLE))).status == 201
    assert (await w.upload(("workload", "molwt-filter"), ("parameters", ""), table(TABLE))).status == 201


@pytest.mark.parametrize("workload", ["descriptor-batch", "molwt-filter"])
async def test_tables_are_joined_in_the_order_of_their_shards(w: Caller, workload: str) -> None:
    answer = await w.upload(("workload", workload), ("chunk_rows", "2"), table(TABLE))
    tasks = [await w.claimed() for _ in range(3)]
    for number in (2, 0, 1):
        assert (await w.do(tasks[number], b'id,"x"\r\n%d,"a b"\r\n' % number)).status == 200
    result = await w.get(f"/jobs/{answer.body['job_id']}/result")
    assert result.raw == b"id,x\n0,a b\n1,a b\n2,a b\n"
    assert result.headers["Content-Disposition"] == f'attachment; filename="{workload}.csv"'


async def test_a_form_of_another_kind_is_refused(rig: CoordinatorRig, w: Caller) -> None:
    boundary = {"Content-Type": "multipart/form-data; boundary=b"}
    for raw, headers in (
        (b"workload=similarity-search", {"Content-Type": "application/x-www-form-urlencoded"}),
        (b"{}", {"Content-Type": "application/json"}),
        (b"x", {"Content-Type": "multipart/form-data"}),
        (b"no boundary at all", boundary),
        (b"--b\r\n\r\nx\r\n--b--\r\n", boundary),
        (b'--b\r\nContent-Disposition: form-data; name="\x03"\r\n\r\nx\r\n--b--\r\n', boundary),
        (b"--b\r\n" + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\nx\r\n--b--\r\n", boundary),
        (b'--b\r\nContent-Disposition: form-data; name="workload"\r\n\r\nsimilarity-search\r\n', boundary),
    ):
        answer = await w.call("POST", "/jobs/upload", raw=raw, headers=headers)
        assert answer.error == (400, "invalid input"), raw
    assert rig.stored() == []


async def test_an_upload_that_breaks_off_leaves_nothing_behind(rig: CoordinatorRig, w: Caller) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield (
            b'--b\r\nContent-Disposition: form-data; name="workload"\r\n\r\ndescriptor-batch\r\n'
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n' + TABLE * 50_000
        )
        raise RuntimeError("the line is cut")

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    with pytest.raises((aiohttp.ClientError, RuntimeError)):
        await w.call("POST", "/jobs/upload", raw=broken(), headers=headers)  # type: ignore[arg-type]
    for _ in range(100):
        if rig.stored() == []:
            break
        await asyncio.sleep(0.02)
    assert rig.stored() == []
    assert (await w.claim()).status == 204


async def test_an_upload_whose_sender_leaves_at_the_last_moment_is_whole_or_gone(
    rig: CoordinatorRig, w: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, begun = jobs.begin, asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(*args: object) -> object:
        loop.call_soon_threadsafe(begun.set)
        time.sleep(0.2)
        return begin(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(jobs, "begin", slow)
    sending = asyncio.ensure_future(w.upload(SEARCHED, ASKED, table(TABLE)))
    await begun.wait()
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    for _ in range(100):
        if rig.stored() == []:
            break
        await asyncio.sleep(0.02)
    assert rig.stored() == []
    assert (await w.claim()).status == 204


async def test_an_upload_that_is_too_large_is_refused_whole(tmp_path: Path, clock: FakeClock) -> None:
    async with serving(tmp_path, clock, limits=Limits(upload_bytes=5000)) as rig:
        w = await rig.worker("w")
        rows = b"A\tC\n" * 2000
        answer = await w.upload(SEARCHED, ASKED, table(HEADER + b"\n" + rows))
        assert answer.error == (413, "request body too large")

        async def unsized() -> AsyncIterator[bytes]:
            form = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
            yield form % (b"workload", b"") + b"descriptor-batch\r\n"
            yield form % (b"file", b'; filename="x"') + HEADER + b"\n"
            for _ in range(10):
                yield rows
            yield b"\r\n--b--\r\n"

        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        answer = await w.call("POST", "/jobs/upload", raw=unsized(), headers=headers)  # type: ignore[arg-type]
        assert answer.error == (413, "request body too large")
        assert rig.stored() == []


@pytest.mark.parametrize("where", ["write", "begin"])
async def test_an_upload_on_a_full_disk_leaves_nothing_behind(
    rig: CoordinatorRig, w: Caller, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def full(*_: object) -> None:
        raise StoreFull

    with monkeypatch.context() as patched:
        if where == "write":
            patched.setattr(Growing, "write", full)
        else:
            patched.setattr(jobs, "begin", full)
        answer = await w.upload(SEARCHED, ASKED, table(TABLE))
    assert answer.error == (503, "internal error")
    assert "Retry-After" in answer.headers
    assert rig.stored() == []
    assert (await w.upload(SEARCHED, ASKED, table(TABLE))).status == 201


async def test_names_of_uploads_are_only_names(rig: CoordinatorRig, w: Caller) -> None:
    answer = await w.upload(SEARCHED, ASKED, table(ONE, filename="../..\\Grüße.tsv"))
    assert all("Gr" not in name for name in rig.stored())
    found = await w.get(f"/artifacts/{answer.body['input_artifact_id']}/download")
    disposition = found.headers["Content-Disposition"]
    assert disposition == "attachment; filename=\"Gr??e.tsv\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.tsv"
    assert found.headers["X-Checksum-SHA256"] == sha(ONE)
    assert found.headers["X-Content-Type-Options"] == "nosniff"


async def done_job(w: Caller) -> str:
    job = await w.search(ONE)
    assert (await w.do(await w.claimed(), PARTIAL)).status == 200
    return job


async def test_finished_jobs_go_after_a_month_with_their_files(rig: CoordinatorRig, w: Caller) -> None:
    old = await done_job(w)
    await rig.pass_time(31 * 86_400)
    fresh, unfinished = await done_job(w), await w.search(ONE)
    await rig.rooms.forget_old()
    assert (await w.get(f"/jobs/{old}")).error == (404, "job not found")
    assert (await w.status(fresh))["status"] == "completed"
    assert (await w.get(f"/jobs/{fresh}/result")).status == 200
    assert (await w.status(unfinished))["status"] == "pending"
    assert {name.partition("/")[0] for name in rig.stored()} == {fresh, unfinished}


async def test_the_oldest_finished_jobs_go_where_all_are_too_large(tmp_path: Path, clock: FakeClock) -> None:
    async with serving(tmp_path, clock, limits=Limits(keep_bytes=300)) as rig:
        w = await rig.worker("w")
        finished = []
        for _ in range(3):
            finished.append(await done_job(w))
            await rig.pass_time(1)
        waiting = await w.search(ONE)
        await rig.rooms.forget_old()
        left = {name.partition("/")[0] for name in rig.stored()}
        assert waiting in left
        assert finished[0] not in left
        assert finished[2] in left


async def test_what_an_earlier_life_left_half_done_is_removed_at_the_start(
    rig: CoordinatorRig, w: Caller
) -> None:
    job = await w.search(ONE)
    folder = rig.folder / "coordinator"
    for name in ("incoming/x/y", "11111111-1111-4111-8111-111111111111/shards", "parts/z"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"left")
    await rig.restart([w])
    assert {name.partition("/")[0] for name in rig.stored()} == {job}


async def test_an_artifact_whose_file_is_gone_is_not_found(rig: CoordinatorRig, w: Caller) -> None:
    job = await done_job(w)
    for name in rig.stored():
        (rig.folder / "coordinator" / name).unlink()
    assert (await w.get(f"/jobs/{job}/result")).error == (404, "artifact not found")


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_two_gigabytes_go_through_little_memory(rig: CoordinatorRig, w: Caller) -> None:
    row = b"CHEMBL1\t" + b"C" * 400 + b"\n"
    block = row * 2500

    async def form() -> AsyncIterator[bytes]:
        part = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
        yield part % (b"workload", b"") + b"descriptor-batch\r\n"
        yield part % (b"chunk_rows", b"") + b"100000\r\n"
        yield part % (b"file", b'; filename="x"') + HEADER + b"\n"
        for _ in range(2 * 10**9 // len(block)):
            yield block
        yield b"\r\n--b--\r\n"

    process = psutil.Process(os.getpid())
    before, most = process.memory_info().rss, 0
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    upload = asyncio.ensure_future(
        w.call("POST", "/jobs/upload", raw=form(), headers=headers)  # type: ignore[arg-type]
    )
    while not upload.done():
        await asyncio.sleep(0.05)
        most = max(most, process.memory_info().rss)
    answer = await upload
    assert answer.status == 201, answer.raw
    assert answer.body["task_count"] == 49
    assert most - before < 64 << 20
