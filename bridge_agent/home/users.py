"""The people who may sign in: their names, passwords and roles."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.home.errors import Conflict, HomeError, NotFound
from bridge_agent.protocol.text import clean
from bridge_agent.store import Database, Queries
from bridge_agent.web import passwords

_SQL = Queries(__package__, "users.sql")
_NAME_BYTES = 64
_PASSWORD_CHARACTERS = 1024
ROLES = frozenset({"admin", "user"})


class LastAdmin(Conflict):
    """This is the last admin who can sign in; make another admin first, then try again."""

    code = "last_admin"


class NameTaken(Conflict):
    """There is an account with this name already; choose another name."""

    code = "username_taken"


class NoSuchUser(NotFound):
    """There is no account with this id; load the list again."""


class BadAccount(HomeError):
    """An account needs a name and a password; fill in both and try again."""

    code = "bad_request"


@dataclass(frozen=True)
class User:
    """An account without its password."""

    id: int
    username: str
    role: str
    enabled: bool

    @property
    def is_admin(self) -> bool:
        """Whether the account has the admin's role."""
        return self.role == "admin"

    def wire(self) -> dict[str, object]:
        """Return the account as JSON routes show it."""
        return {"id": self.id, "username": self.username, "role": self.role, "enabled": self.enabled}


class Users:
    """The accounts. `on_change` is called after one has changed: a token of theirs may work no longer."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self.on_change: Callable[[], None] = lambda: None

    async def any(self) -> bool:
        """Tell whether there is an account at all."""
        return await self._db.read(lambda c: c.execute(_SQL["any_user"]).fetchone() is not None)

    async def list(self) -> "list[User]":
        """Return all accounts."""
        rows = await self._db.read(lambda c: c.execute(_SQL["list"]).fetchall())
        return [_user(row) for row in rows]

    async def create(self, username: str, password: str, role: str = "user") -> User:
        """Make an account; raises NameTaken, BadAccount."""
        name = username.strip()
        _check_name(name)
        _check_role(role)
        hashed = await _hashed(password)
        now = to_text(self._clock.now())
        row = await self._db.write(lambda c: c.execute(_SQL["create"], (name, hashed, role, now)).fetchone())
        if row is None:
            raise NameTaken
        return _user(row)

    async def patch(
        self,
        user_id: int,
        *,
        enabled: bool | None = None,
        role: str | None = None,
        password: str | None = None,
        keep_session: str | None = None,
    ) -> User:
        """Change what is given; a new password ends the account's sessions but that of hash `keep_session`.

        Raises NoSuchUser, BadAccount, and LastAdmin when nobody who may administer would be left.
        """
        if role is not None:
            _check_role(role)
        hashed = None if password is None else await _hashed(password)
        values = {"id": user_id, "enabled": enabled, "role": role, "password_hash": hashed}
        user = await self._db.write(lambda c: _change(c, values, keep_session))
        self.on_change()
        return user

    async def check(self, username: str, password: str) -> User | None:
        """Return the enabled account that name and password belong to; takes as long when there is none."""
        name = username.strip()
        row = await self._db.read(lambda c: c.execute(_SQL["by_name"], (name,)).fetchone())
        right = await passwords.matches(password, None if row is None else row["password_hash"])
        if row is None or not right or not row["enabled"]:
            return None
        return _user(row)


def _change(connection: sqlite3.Connection, values: Mapping[str, object], keep_session: str | None) -> User:
    row = connection.execute(_SQL["change"], values).fetchone()
    if row is None:
        raise NoSuchUser
    if connection.execute(_SQL["any_admin"]).fetchone() is None:
        raise LastAdmin
    if values["password_hash"] is not None:
        connection.execute(_SQL["end_sessions"], {"id": values["id"], "keep": keep_session})
    return _user(row)


def _user(row: sqlite3.Row) -> User:
    return User(row["id"], row["username"], row["role"], bool(row["enabled"]))


def _check_name(name: str) -> None:
    if not name:
        raise BadAccount
    if clean(name, _NAME_BYTES) != name:
        raise BadAccount(f"A name has at most {_NAME_BYTES} bytes and no control characters; choose another.")


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise BadAccount("A role is “admin” or “user”; choose one of them.")


async def _hashed(password: str) -> str:
    if not password:
        raise BadAccount
    if len(password) > _PASSWORD_CHARACTERS:
        raise BadAccount(f"A password has at most {_PASSWORD_CHARACTERS} characters; choose a shorter one.")
    return await passwords.hash_password(password)
