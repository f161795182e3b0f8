"""/healthz is broken only by a broken store or loop; /metrics tells the Bridge in figures."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.page.conftest import MakePage, Page


async def health(page: Page) -> tuple[int, object]:
    answer = await page.client.get("/healthz")
    return answer.status, await answer.json()


async def figures(page: Page) -> dict[tuple[str, ...], float]:
    text = await (await page.client.get("/metrics")).text()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("state", "paired", "reachable"),
    [
        ("unpaired", False, False),
        ("connecting", True, False),
        ("offline", True, False),
        ("refused", True, False),
        ("online", True, True),
    ],
)
async def test_every_state_of_the_link_is_healthy(served: Page, state: str, paired: bool, reachable: bool):
    served.house.pair(state)
    assert await health(served) == (200, {"alive": True, "paired": paired, "reachable": reachable})


async def test_a_bridge_that_starts_is_healthy(make_page: MakePage):
    page = await make_page(opened=False)
    page.house.parts.db = page.house.parts.link = None
    assert await health(page) == (200, {"alive": True, "paired": False, "reachable": False})


async def test_a_broken_loop_is_not(served: Page):
    served.house.parts.loops.say("heartbeat", "Waits.")
    assert (await health(served))[0] == 200
    served.house.parts.loops.broke("heartbeat", "It broke.")
    assert await health(served) == (503, {"alive": False, "paired": False, "reachable": False})


async def test_a_broken_store_is_not(served: Page):
    db = served.house.parts.db
    assert db is not None
    await db.close()
    assert (await health(served))[0] == 503


async def test_the_figures_follow_the_state(served: Page):
    house = served.house
    house.pair("offline", ago=30)
    house.library(3, ok=False)
    house.job(1, "running")
    house.parts.loops.broke("claims", "It broke.")
    told = await figures(served)
    assert told["bridge_link", "offline"] == 1
    assert told["bridge_link", "online"] == 0
    assert told["bridge_lane_running", "light"] == 1
    assert told["bridge_lane_limit", "light"] == 2
    assert told["bridge_library_ok", "3"] == 0
    assert told["bridge_loop_broken", "claims"] == 1
    assert told["bridge_jobs", "done"] == 0
    assert told["bridge_up_seconds",] == 3 * 86_400
    assert told["bridge_last_heartbeat_timestamp_seconds",] == house.clock.now().timestamp() - 30


async def test_scraping_twice_works_and_counts_what_the_store_holds(served: Page):
    db = served.house.parts.db
    assert db is not None
    row = (
        "INSERT INTO server_jobs (server_id, job_id, attempt, kind, library_id, path, params, state, "
        "claimed_at, finished_at) VALUES ('s', ?, 1, 'bridge.verify', 1, 'p', '{}', 'failed', 't', 't')"
    )
    await served.client.get("/metrics")
    for number in (1, 2):
        await db.write(lambda c, n=number: c.execute(row, (n,)) and None)
    told = await figures(served)
    assert told["bridge_jobs", "failed"] == 2
    assert told["bridge_jobs_unreported",] == 2
