"""The page's password: of the settings, or a hash in the store that the page or the command line set."""

import hmac
import sqlite3

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.logs import masks
from bridge_agent.page.queries import sql
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database
from bridge_agent.web import passwords

LEAST = 8
MOST = 200


class WeakPassword(BridgeError):
    """A password needs at least 8 characters and at most 200; choose another one."""

    code = "weak_password"


class SetElsewhere(BridgeError):
    """The password comes from the setting BRIDGE_PAGE_PASSWORD; change it there and start again."""

    code = "set_by_settings"


class PagePassword:
    """Whether there is a password, and whether a given one is it; one of the settings goes first."""

    def __init__(self, settings: BridgeSettings, db: Database) -> None:
        self._settings = settings
        self._db = db

    @property
    def from_settings(self) -> bool:
        """Whether the settings give it, so that it can't be changed here."""
        return bool(self._settings.page_password)

    async def is_set(self) -> bool:
        """Tell whether there is a password."""
        return self.from_settings or await self._stored() is not None

    async def matches(self, given: str) -> bool:
        """Tell whether a given password is the one; with none set, no password is."""
        if self.from_settings:
            wanted = self._settings.page_password
            return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8", "replace"))
        return await passwords.matches(given[:MOST], await self._stored())

    async def keep(self, password: str) -> None:
        """Set or replace it and end all sessions; raises WeakPassword, SetElsewhere."""
        if self.from_settings:
            raise SetElsewhere
        if not LEAST <= len(password) <= MOST:
            raise WeakPassword
        masks.register(password)
        digest = await passwords.hash_password(password)

        def unit(connection: sqlite3.Connection) -> None:
            connection.execute(sql["keep_password_hash"], {"hash": digest})
            connection.execute(sql["end_all_sessions"])

        await self._db.write(unit)

    async def forget(self) -> None:
        """Take the password away; raises SetElsewhere."""
        if self.from_settings:
            raise SetElsewhere
        await self._db.write(lambda c: c.execute(sql["forget_password_hash"]) and None)

    async def _stored(self) -> str | None:
        def unit(connection: sqlite3.Connection) -> str | None:
            row = connection.execute(sql["password_hash"]).fetchone()
            return None if row is None else str(row["value"])

        return await self._db.read(unit)


async def first_password(settings: BridgeSettings, db: Database) -> str | None:
    """Make a password for a Bridge that listens beyond loopback with none set; return it to be printed once.

    Returns None where none is needed. The caller prints it on the terminal alone, never in the log.
    """
    if settings.listen.loopback or await PagePassword(settings, db).is_set():
        return None
    password = passwords.generate()
    masks.register(password)
    digest = await passwords.hash_password(password)

    def unit(connection: sqlite3.Connection) -> bool:
        return connection.execute(sql["keep_first_password_hash"], {"hash": digest}).fetchone() is not None

    return password if await db.write(unit) else None
