"""Both halves as whole processes: the way through; killed, restarted, refused, copied; every file read."""

import asyncio
import hashlib
import os
import re
import shutil
import signal
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp
import pytest

from bridge_agent.protocol.bridge import VERIFY
from tests.fakes.processes import Household, Process, free_port, household, secrets_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SAMPLES = Path(__file__).parent.parent.parent / "bridge_agent" / "demo_library"
QUICK = {
    "BRIDGE_HEARTBEAT_SECONDS": "0.5",
    "BRIDGE_REFUSED_RETRY_SECONDS": "1",
    "BRIDGE_KEEPALIVE_SECONDS": "0.5",
    "BRIDGE_REPORT_SECONDS": "0.2",
    "BRIDGE_UNREPORTED_RETRY_SECONDS": "0.5",
    "BRIDGE_HOME_LEASE_SECONDS": "4",
    "BRIDGE_HOME_CAPABILITY_SECONDS": "0.2",
}


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A library of one's own: the sample books."""
    return Path(shutil.copytree(SAMPLES, tmp_path / "books"))


def tree(root: Path) -> str:
    """Return a hash over every name, size and content below a folder."""
    seen = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        seen.update(str(path.relative_to(root)).encode())
        if path.is_file():
            seen.update(path.read_bytes())
    return seen.hexdigest()


async def verify(home: Household, library: int, hold: int = 0) -> int:
    body = {"kind": VERIFY, "library_id": library, "params": {"hold_seconds": hold}}
    return int((await home.api("POST", "/admin/bridge/jobs", body))["id"])


async def bridge_jobs(home: Household) -> list[dict[str, Any]]:
    return list((await home.send("GET", f"{home.bridge_url}/api/jobs"))["jobs"])


@pytest.mark.requirement("R-097", "R-099", "R-106", "R-014")
async def test_a_book_is_verified_and_nothing_in_the_library_changes(tmp_path, books):
    before = tree(books)
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        ended = await home.job_in(await verify(home, library), "done", "failed")
        assert ended["state"] == "done", (ended["error"], ended)
        assert ended["params"] == {}
        assert [file["ok"] for file in ended["result"]["files"]] == [True] * len(ended["result"]["files"])
        assert ended["result"]["writable"] is True
        assert (await bridge_jobs(home))[0]["reported"] is True
    assert tree(books) == before


@pytest.mark.requirement("R-050", "R-078", "R-079", "R-080")
async def test_a_killed_bridge_resumes_its_job_under_the_same_claim(tmp_path, books):
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        job = await verify(home, library, hold=3)
        await home.job_in(job, "running")
        await home.bridge.stop(signal.SIGKILL)
        await home.start_bridge()
        ended = await home.job_in(job, "done", "failed")
        assert (ended["state"], ended["attempts"]) == ("done", 1)
        assert [row["state"] for row in await bridge_jobs(home)] == ["done"]


@pytest.mark.requirement("R-050", "R-067", "R-080")
async def test_a_bridge_that_was_away_too_long_shows_the_lost_attempt_and_does_the_next(tmp_path, books):
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        job = await verify(home, library, hold=2)
        await home.job_in(job, "running")
        await home.bridge.stop(signal.SIGKILL)
        await home.job_in(job, "queued")
        await home.start_bridge()
        ended = await home.job_in(job, "done", "failed")
        assert (ended["state"], ended["attempts"]) == ("done", 2)
        states = {row["attempt"]: row["state"] for row in await bridge_jobs(home)}
        assert states == {1: "lost", 2: "done"}


@pytest.mark.requirement("R-079", "R-081")
async def test_twelve_kills_at_odd_moments_lose_nothing_and_do_nothing_twice(tmp_path, books):
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        for round_ in range(12):
            job = await verify(home, library, hold=round_ % 2)
            await asyncio.sleep(round_ * 0.037)
            await home.bridge.stop(signal.SIGKILL)
            await home.start_bridge()
            ended = await home.job_in(job, "done", "failed")
            assert ended["state"] == "done", (ended["error"], ended)
            rows = [row for row in await bridge_jobs(home) if row["job_id"] == job]
            assert sum(row["state"] == "done" for row in rows) == 1


@pytest.mark.requirement("R-058", "R-081")
async def test_the_server_is_killed_in_the_middle_and_the_bridge_goes_on(tmp_path, books):
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        job = await verify(home, library, hold=2)
        await home.job_in(job, "running")
        await home.home.stop(signal.SIGKILL)
        await asyncio.sleep(2.5)
        await home.start_home()
        ended = await home.job_in(job, "done", "failed")
        assert (ended["state"], ended["attempts"]) == ("done", 1)


@pytest.mark.requirement("R-024", "R-025", "R-083", "R-084", "R-087", "R-088")
async def test_unpaired_in_the_console_then_paired_again_the_job_is_taken_up(tmp_path, books):
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        job = await verify(home, library, hold=2)
        await home.job_in(job, "running")
        await home.api("DELETE", "/admin/bridge")

        async def refused() -> bool:
            status = await home.send("GET", f"{home.bridge_url}/api/status")
            return status["link"]["state"] == "refused"

        await home.until(refused)

        async def aside() -> bool:
            return [row["state"] for row in await bridge_jobs(home)] == ["aside"]

        await home.until(aside)
        await home.send("POST", f"{home.bridge_url}/api/unpair", {})
        await home.pair()
        ended = await home.job_in(job, "done", "failed")
        assert ended["state"] == "done"


@pytest.mark.requirement("R-072", "R-073", "R-077")
async def test_cancel_from_either_side_ends_the_job_on_both(tmp_path, books):
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        job = await verify(home, library, hold=300)
        await home.job_in(job, "running")
        await home.api("POST", f"/admin/bridge/jobs/{job}/cancel")
        await home.job_in(job, "cancelled")
        again = await verify(home, library, hold=300)
        await home.job_in(again, "running")
        row = (await bridge_jobs(home))[0]
        await home.send("POST", f"{home.bridge_url}/api/jobs/{row['server_id']}/{again}/cancel")
        await home.job_in(again, "cancelled")
        assert [row["state"] for row in await bridge_jobs(home)] == ["cancelled", "cancelled"]


async def test_a_copied_data_folder_runs_nothing_until_it_is_paired_itself(tmp_path, books):
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        job = await verify(home, library, hold=4)
        await home.job_in(job, "running")
        await asyncio.to_thread(shutil.copytree, tmp_path / "bridge", tmp_path / "copy")
        port = free_port()
        environ = {**home.bridge.environ, "BRIDGE_DATA_DIR": str(tmp_path / "copy")}
        copy = Process(["run"], {**environ, "BRIDGE_LISTEN": f"127.0.0.1:{port}"}, tmp_path / "copy.log")
        await copy.start()
        try:
            await home.answers(f"http://127.0.0.1:{port}/api/status")
            await asyncio.sleep(2)
            status = await home.send("GET", f"http://127.0.0.1:{port}/api/status")
            assert not status["link"]["online"]
            assert "copy" in status["link"]["reason"]
            assert [row["state"] for row in status["jobs"]["running"]] in ([], ["aside"])
            assert await home.online()
            ended = await home.job_in(job, "done", "failed")
            assert (ended["state"], ended["attempts"]) == ("done", 1)
        finally:
            await copy.stop(signal.SIGKILL)


@pytest.mark.requirement("R-015")
async def test_a_start_that_can_t_serve_says_so_and_spends_no_code(tmp_path):
    async with Household(tmp_path, **QUICK) as home:
        await home.start_home()
        made = await home.api("POST", "/admin/bridge/pair", {})
        home.bridge.environ |= made["env"]
        blocker = await asyncio.start_server(lambda r, w: None, "127.0.0.1", home.bridge_port)
        await home.bridge.start()
        assert await asyncio.wait_for(home.bridge.process.wait(), 20) == 1
        assert "already in use" in home.bridge.said
        assert "Traceback" not in home.bridge.said
        blocker.close()
        await blocker.wait_closed()
        await home.start_bridge()
        await home.until(home.online)


async def test_a_second_process_on_one_data_folder_is_told_who_has_it(tmp_path):
    async with Household(tmp_path, **QUICK) as home:
        await home.start_bridge()
        second = Process(
            ["run"],
            {**home.bridge.environ, "BRIDGE_LISTEN": f"127.0.0.1:{free_port()}"},
            tmp_path / "second.log",
        )
        await second.start()
        assert await asyncio.wait_for(second.process.wait(), 20) == 75
        assert f"process {home.bridge.pid}" in second.said


async def test_both_stop_within_two_seconds_with_exit_code_0(tmp_path):
    async with household(tmp_path, **QUICK) as home:
        streams = [await home.http.get(f"{home.bridge_url}/api/events") for _ in range(5)]
        for process in (home.bridge, home.home):
            began = perf_counter()
            assert await process.stop() == 0
            assert perf_counter() - began <= 2.0
        for stream in streams:
            stream.close()


@pytest.mark.requirement("R-004", "R-012", "R-026", "R-029")
async def test_no_secret_stands_in_any_file_that_was_written(tmp_path, books):
    async with household(tmp_path, **QUICK) as home:
        library = await home.add_library("Books", books)
        await home.job_in(await verify(home, library), "done")
        code = (await home.api("POST", "/admin/bridge/pair", {}))["code"]
        cast = await home.api("POST", "/media/cast")
        async with home.http.get(
            f"{home.home_url}/api/v1/media/{library}/nothing?token={cast['token']}"
        ) as answer:
            assert answer.status == 404
        mine = {
            home.admin["Authorization"].removeprefix("Bearer "),
            cast["token"],
            code,
            code.replace("-", ""),
        }
        await home.bridge.stop()
        await home.home.stop()
    allowed = {"control.token"}
    for path in tmp_path.rglob("*"):
        if not path.is_file() or books in path.parents:
            continue
        text = path.read_bytes().decode("latin-1")
        assert not [secret for secret in mine if secret in text], path
        assert path.name in allowed or not secrets_in(text), path
        if os.name == "posix" and "secrets" in path.parts:
            assert path.stat().st_mode & 0o077 == 0


async def test_the_command_line_talks_to_the_running_bridge(tmp_path):
    async with household(tmp_path, **QUICK) as home:
        for words, code, expected in [
            (["status"], 0, "Home"),
            (["status", "--json"], 0, '"state": "online"'),
            (["token", "where"], 0, "file"),
            (["paths"], 0, str(tmp_path / "bridge")),
            (["doctor", "--json"], None, '"findings"'),
            (["pair", home.home_url, "AAAA-AAAA"], 1, "paired"),
            (["unpair"], 0, "console"),
            (["pair", "ftp://x", "AAAA-AAAA"], 1, "http"),
            (["pair", home.home_url, "AAAA-AAAA"], 1, "Make a new one"),
        ]:
            process = Process(
                words, home.bridge.environ, tmp_path / f"cli-{len(words)}-{words[0]}-{code}.log"
            )
            process.log.unlink(missing_ok=True)
            await process.start()
            exit_code = await asyncio.wait_for(process.process.wait(), 60)
            assert expected.lower() in process.said.lower(), (words, process.said)
            assert code is None or exit_code == code, (words, exit_code, process.said)
            assert "Traceback" not in process.said


async def test_a_wrong_setting_is_exit_code_2_and_one_sentence(tmp_path):
    process = Process(
        ["run"], {"BRIDGE_DATA_DIR": str(tmp_path), "BRIDGE_LISTEN": "nonsense"}, tmp_path / "log"
    )
    await process.start()
    assert await asyncio.wait_for(process.process.wait(), 20) == 2
    assert re.fullmatch(r"bridge-agent: BRIDGE_LISTEN is “nonsense” but needs .+\.\n", process.said)


@pytest.mark.requirement("R-021", "R-020", "R-007")
async def test_a_self_signed_server_is_not_trusted_and_its_plain_address_pairs(tmp_path):
    async with Household(tmp_path, **QUICK) as home:
        home.home.environ |= {
            "BRIDGE_HOME_TLS": "self-signed",
            "BRIDGE_HOME_PUBLIC_URL": f"https://127.0.0.1:{home.home_port}",
            "BRIDGE_HOME_ADDRESS": home.home_url,
        }
        await home.start_home()
        await home.start_bridge()
        made = await home.api("POST", "/admin/bridge/pair", {})
        assert made["server_url"] == home.home_url
        body = {"server_url": f"https://127.0.0.1:{home.home_port}", "code": made["code"]}
        async with home.http.post(f"{home.bridge_url}/api/pair", json=body) as answer:
            assert answer.status == 502
            error = (await answer.json())["error"]
            assert error["code"] == "tls_untrusted"
            assert "http://" in error["message"]
        body["server_url"] = home.home_url
        await home.send("POST", f"{home.bridge_url}/api/pair", body)
        await home.until(home.online)


async def test_a_vanished_poller_never_wins_a_job(tmp_path, books):
    async with Household(tmp_path, **QUICK) as home:
        await home.start_home()
        library = await home.add_library("Books", books)
        made = await home.api("POST", "/admin/bridge/pair", {})
        paired = await home.send("POST", f"{home.home_url}/api/v1/bridge/pair", {"code": made["code"]})
        auth = {"Authorization": f"Bearer {paired['token']}"}
        beat = {"version": "1", "kinds": [VERIFY], "libraries": [], "workers": [], "ui_url": None}
        await home.send("PUT", f"{home.home_url}/api/v1/bridge/status", beat, auth)
        url = f"{home.home_url}/api/v1/bridge/jobs/next?wait=20"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as doomed:
            polls = [asyncio.create_task(doomed.get(url, headers=auth)) for _ in range(30)]
            await asyncio.sleep(0.5)
            for poll in polls:
                poll.cancel()
            await asyncio.gather(*polls, return_exceptions=True)
        alive = asyncio.create_task(home.send("GET", url, None, auth))
        await asyncio.sleep(0.3)
        job = await verify(home, library)
        claimed = (await alive)["job"]
        assert (claimed["id"], claimed["attempt"]) == (job, 1)
