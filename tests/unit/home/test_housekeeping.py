"""The slow chores."""

from datetime import UTC

from bridge_agent.base.tasks import Tasks
from bridge_agent.home.credentials import Credentials
from bridge_agent.home.housekeeping import Housekeeping
from bridge_agent.home.users import User
from bridge_agent.store.database import open_inline
from tests.fakes.clock import FakeClock
from tests.unit.home.store import NOW, SCHEMA

ADMIN = User(1, "admin", "admin", True)


async def test_ended_credentials_are_forgotten_and_the_rest_stays(clock: FakeClock):
    db = open_inline(":memory:", SCHEMA)
    await db.write(
        lambda c: c.execute(
            "INSERT INTO users (username, password_hash, role, created_at) VALUES ('admin', 'x', 'admin', ?)",
            (NOW,),
        )
    )
    credentials = Credentials(db, clock, Tasks("test"))
    await credentials.mint_session(ADMIN, "old")
    await credentials.mint_cast(ADMIN)
    await credentials.make_device_code(ADMIN)
    await credentials.mint_api_key(ADMIN, "script")
    await clock.advance(29 * 86_400)
    await credentials.mint_session(ADMIN, "new")
    await clock.advance(2 * 86_400)
    scans: list[int] = []
    house = Housekeeping(db, credentials, lambda: scans.append(1))
    await house.retention()
    await house.scans()
    await house.store()
    names = await db.read(lambda c: [row["name"] for row in c.execute("SELECT name FROM tokens ORDER BY id")])
    codes = await db.read(lambda c: c.execute("SELECT count(*) FROM device_codes").fetchone()[0])
    assert (names, codes, scans) == (["script", "new"], 0, [1])
    await db.close()


async def test_chores_are_planned_in_utc_and_a_late_one_runs_once(clock: FakeClock):
    db = open_inline(":memory:", SCHEMA)
    house = Housekeeping(db, Credentials(db, clock, Tasks("test")), lambda: None)
    house.start()
    jobs = house._scheduler.get_jobs()
    assert {job.id for job in jobs} == {"scans", "retention", "store"}
    for job in jobs:
        assert (job.coalesce, job.misfire_grace_time, job.max_instances) == (True, None, 1)
        assert job.next_run_time.tzinfo is UTC
    house.stop()
    house.stop()
    await db.close()
