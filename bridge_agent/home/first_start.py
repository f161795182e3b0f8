"""What a start makes sure of before the first request: the server's id, an admin, the settings' libraries."""

import json
import os
import sqlite3
import uuid
from collections.abc import Callable

from bridge_agent.base.logs import masks
from bridge_agent.home import bridge_status, leases
from bridge_agent.home.library.index import LibraryIndex
from bridge_agent.home.moment import Moment
from bridge_agent.home.users import Users
from bridge_agent.settings import HomeSettings
from bridge_agent.store import Database, Queries
from bridge_agent.web import passwords

_SQL = Queries(__package__, "first_start.sql")
ADMIN = "admin"


async def server_id(db: Database) -> str:
    """Return the UUID that lasts as long as the server's data; made at the first start (R-088)."""
    made = str(uuid.uuid4())

    def unit(connection: sqlite3.Connection) -> str:
        connection.execute(_SQL["keep_new"], ("server_id", made))
        return str(connection.execute(_SQL["get"], ("server_id",)).fetchone()["value"])

    return await db.write(unit)


async def rebase(db: Database, settings: HomeSettings, moment: Moment) -> None:
    """Give leases, pairing code and heartbeat their places on this process's monotonic clock (law 5)."""

    def unit(connection: sqlite3.Connection) -> None:
        leases.rebase(connection, moment, settings.lease_seconds)
        bridge_status.rebase(connection, moment, settings.pair_code_seconds)

    await db.write(unit)


async def first_admin(users: Users, settings: HomeSettings, say: Callable[[str], None]) -> None:
    """Make the first admin where there is no account; a password made here is said once, never logged."""
    if await users.any():
        return
    password = settings.admin_password
    if password:
        masks.register(password)
        await users.create(ADMIN, password, "admin")
        return
    password = passwords.generate()
    masks.register(password)
    await users.create(ADMIN, password, "admin")
    say(
        f"\n  The first admin of this server:  {ADMIN}\n  password:                        {password}\n"
        "  It is shown this once; sign in and change it under Account.\n"
    )


async def settings_libraries(db: Database, settings: HomeSettings, library: LibraryIndex) -> None:
    """Add the libraries of the settings, each once: one that an admin removed does not come back."""
    row = await db.read(lambda c: c.execute(_SQL["get"], ("settings_libraries",)).fetchone())
    taken: list[str] = [] if row is None else json.loads(row["value"])
    roots = {info.root for info in library.libraries()}
    for name, root in _named(settings):
        if root in taken:
            continue
        if root not in roots:
            await library.add(name, root)
        taken.append(root)
        await _keep(db, "settings_libraries", json.dumps(taken))


def _named(settings: HomeSettings) -> list[tuple[str, str]]:
    return [(named.name, os.path.normpath(named.root.absolute())) for named in settings.libraries]


async def _keep(db: Database, name: str, value: str) -> None:
    await db.write(lambda c: c.execute(_SQL["keep"], (name, value)))
