"""The event stream: what it begins with, what it tells, and how it goes on after a break."""

import json
from typing import Any

from aiohttp import ClientResponse

from tests.fakes.clock import settle
from tests.unit.page.conftest import MakePage, Page

Event = tuple[str, str, Any]


class Stream:
    """One reader of the stream."""

    def __init__(self, page: Page, last: str | None = None) -> None:
        self.page = page
        self.headers = {} if last is None else {"Last-Event-ID": last}
        self.answer: ClientResponse | None = None

    async def __aenter__(self) -> "Stream":
        self.answer = await self.page.client.get("/api/events", headers=self.headers)
        assert self.answer.status == 200
        assert self.answer.content_type == "text/event-stream"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.answer is not None
        self.answer.close()

    async def next(self) -> Event:
        """Return the next event as (id, name, data)."""
        assert self.answer is not None
        fields: dict[str, str] = {}
        while True:
            line = (await self.answer.content.readline()).decode().rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                return fields["id"], fields["event"], json.loads(fields["data"])
            else:
                fields = {}


async def test_a_stream_begins_with_the_whole_status(served: Page):
    served.house.pair()
    async with Stream(served) as stream:
        _, name, data = await stream.next()
    assert name == "status"
    assert data == await (await served.client.get("/api/status")).json()


async def test_a_jobs_new_state_is_told_at_once_and_the_status_with_it(served: Page):
    async with Stream(served) as stream:
        await stream.next()
        job = served.house.job(1, "running")
        served.house.jobs.on_change(job)
        _, name, data = await stream.next()
        assert (name, data["job_id"], data["state"]) == ("job", 1, "running")
        _, name, data = await stream.next()
        assert (name, [j["job_id"] for j in data["jobs"]["running"]]) == ("status", [1])


async def test_progress_within_a_state_is_merged(served: Page):
    async with Stream(served) as stream:
        await stream.next()
        job = served.house.job(1, "running")
        served.house.jobs.on_change(job)
        await stream.next()
        await stream.next()
        for done in range(50):
            job["progress"] = {"step": "stat", "message": "Comparing the files", "done": done, "total": 50}
            served.house.jobs.on_change(dict(job))
        await served.clock.advance(1)
        _, name, data = await stream.next()
        assert (name, data["progress"]["done"]) == ("job", 49)
        assert (await stream.next())[1] == "status"


async def test_the_links_and_the_libraries_news_are_told(served: Page):
    async with Stream(served) as stream:
        await stream.next()
        await served.client.post("/api/pair", json={"server_url": "http://x", "code": "1"})
        assert (await stream.next())[2]["link"]["state"] == "connecting"
        await served.clock.advance(1)
        served.house.library()
        served.house.mappings.on_change()
        assert len((await stream.next())[2]["libraries"]) == 1


async def test_a_quiet_stream_says_every_fifteen_seconds_that_the_bridge_lives(served: Page):
    async with Stream(served) as stream:
        await stream.next()
        await served.clock.advance(16)
        assert (await stream.next())[1] == "status"


async def test_a_reader_that_comes_back_gets_what_it_missed(served: Page):
    async with Stream(served) as stream:
        last, _, _ = await stream.next()
    await settle()
    served.house.jobs.on_change(served.house.job(1, "running"))
    served.house.jobs.on_change(served.house.job(2, "running"))
    async with Stream(served, last) as stream:
        told = [await stream.next() for _ in range(2)]
    assert [(name, data["job_id"]) for _, name, data in told] == [("job", 1), ("job", 2)]
    async with Stream(served, told[0][0]) as stream:
        assert (await stream.next())[2]["job_id"] == 2


async def test_a_reader_of_another_start_gets_the_whole_status(served: Page):
    for last in ("deadbeef-3", "nonsense", ""):
        async with Stream(served, last) as stream:
            assert (await stream.next())[1] == "status"


async def test_a_stream_ends_at_once_when_the_page_stops(served: Page):
    async with Stream(served) as stream:
        await stream.next()
        served.house.parts.events.close()
        assert stream.answer is not None
        assert await stream.answer.content.read() == b""


async def test_a_stream_needs_the_password_like_everything_else(make_page: MakePage):
    page = await make_page(page_password="correct horse")
    assert (await page.client.get("/api/events")).status == 401
