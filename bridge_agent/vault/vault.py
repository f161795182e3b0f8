"""The vault: keeps one token sealed, in the keyring where a real one answers, else in a private file.

In both cases the token is sealed with AES-256-GCM under a key in a 0600 file of `secrets/`; only the sealed
text goes into the keyring. So neither of the two places alone gives the token away, and removing the key is
enough to forget it even while the keyring does not answer (R-012, settled points 2 and 19).
"""

import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from bridge_agent.base import threads
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.logs import masks
from bridge_agent.settings import BridgeSettings
from bridge_agent.vault import rings, sealing
from bridge_agent.vault.errors import RingUnusable, TokenNotKept, VaultNotReady
from bridge_agent.vault.records import Choice, Records
from bridge_agent.vault.rings import Rings, SystemRings
from bridge_agent.vault.sealer import OwnSealer, Sealer

T = TypeVar("T")

_log = logging.getLogger(__name__)

KEYRING_LIMIT_S = 5.0
FILE_LIMIT_S = 20.0
EMPTY_GRACE_S = 60.0
"""How long a remembered keyring without our entry counts as not ready: at boot it can still be filling."""


@dataclass(frozen=True)
class Place:
    """Where the token is, in one sentence, and how strong that is."""

    kind: Literal["keyring", "file", "none"]
    sentence: str
    strength: Literal["strong", "fair", "none"]


class Vault:
    """Keeps one token. Nothing here blocks the event loop; a keyring call has a deadline."""

    def __init__(
        self,
        store: str,
        data_dir: Path,
        clock: Clock,
        system: Rings | None = None,
        keyring_limit_s: float = KEYRING_LIMIT_S,
        sealer: Sealer | None = None,
    ) -> None:
        """Prepare a vault below a data folder; `store` is auto, keyring or file. Touches nothing yet."""
        self._store = store
        self._records = Records(data_dir)
        self._clock = clock
        self._rings = system or SystemRings()
        self._limit = keyring_limit_s
        self._sealer = sealer or OwnSealer()
        self._choice: Choice | None = None
        self._empty_since: float | None = None

    async def look(self) -> None:
        """Read where the token was kept, for `describe`; a disk that refuses is told by `load`."""
        try:
            self._choice = await self._read(self._records.choice)
        except VaultNotReady as error:
            _log.warning("%s", error)

    async def load(self) -> str | None:
        """Return the kept token, or None when none is kept or it can't be opened any more.

        Raises VaultNotReady while that can't be told: the keyring is locked or does not answer, the disk
        refuses. Ask again later; the token is not lost.
        """
        choice = await self._read(self._records.choice)
        self._choice = choice
        if choice is None or choice.kind is None:
            return None
        key = await self._read(self._records.key)
        if choice.kind == "file":
            sealed = await self._read(self._records.sealed)
        else:
            sealed = await self._from_ring(choice)
        if sealed is None or key is None:
            _log.warning("The token is gone from %s.", self.describe().kind)
            return None
        try:
            token = await self._sealer.unseal(sealed, key)
        except sealing.SealBroken:
            _log.warning("The sealed token can’t be opened with the key in %s.", self._records.folder)
            return None
        masks.register(token)
        return token

    async def keep(self, token: str) -> None:
        """Seal and keep a token in place of an earlier one; durable on return.

        Raises TokenNotKept with what to do; nothing is kept then.
        """
        masks.register(token)
        earlier = self._choice or await self._read(self._records.choice)
        key = sealing.new_key()
        sealed = await self._sealer.seal(token, key)
        choice = Choice(account=str(uuid.uuid4()))
        try:
            await self._write(self._records.write_key, key)
            choice = await self._store_sealed(choice, sealed)
            await self._write(self._records.remember, choice)
        except BaseException:
            await self._withdraw(choice)
            raise
        self._choice, self._empty_since = choice, None
        if earlier is not None:
            await self._drop_entry(earlier)

    async def forget(self) -> None:
        """Remove the token everywhere; it can't be had any more when this returns.

        A keyring that does not answer keeps an entry that nothing opens: its key is gone. Raises
        TokenNotKept when the disk refuses to let go of the files.
        """
        choice = self._choice or await self._read(self._records.choice)
        await self._write(self._records.drop)
        await self._write(self._records.remember, Choice(account=str(uuid.uuid4())))
        self._choice = None
        if choice is not None:
            await self._drop_entry(choice)

    async def disown(self) -> None:
        """Forget the token of a copied data folder; the keyring's entry stays with the Bridge it is of."""
        await self._write(self._records.drop)
        await self._write(self._records.remember, Choice(account=str(uuid.uuid4())))
        self._choice = None

    def describe(self) -> Place:
        """Say where the token is and how strong that is, as far as the last call here has seen."""
        if self._choice is None or self._choice.kind is None:
            return Place("none", "No token is kept on this machine.", "none")
        if self._choice.kind == "keyring":
            return Place(
                "keyring",
                f"The token is sealed in {rings.spoken_name(self._choice.ring)}; its key is in a file in "
                f"{self._records.folder} that only your user can read, and neither works without the other.",
                "strong",
            )
        return Place(
            "file",
            f"The token is sealed in a file in {self._records.folder} that only your user can read, with its "
            "key beside it: whoever can read your user’s files can use it.",
            "fair",
        )

    # ---- the keyring

    async def _from_ring(self, choice: Choice) -> str | None:
        def get() -> str | None:
            return self._rings.named(choice.ring).get_password(rings.SERVICE, choice.account)

        spoken = rings.spoken_name(choice.ring)
        try:
            found = await threads.secrets.call(self._limit, get)
        except Exception as error:
            _log.debug("The keyring did not give the token: %s: %s", type(error).__name__, error)
            raise VaultNotReady(
                f"The token is in {spoken}, which does not answer or is locked; unlock it, and the Bridge "
                "carries on by itself."
            ) from error
        if found is not None:
            self._empty_since = None
            return found
        now = self._clock.monotonic()
        self._empty_since = now if self._empty_since is None else self._empty_since
        if now - self._empty_since < EMPTY_GRACE_S:
            raise VaultNotReady(
                f"{spoken[0].upper()}{spoken[1:]} answers, but does not show this Bridge’s token yet; it is "
                "asked again in a moment."
            )
        return None

    async def _store_sealed(self, choice: Choice, sealed: str) -> Choice:
        if self._store != "file":
            try:
                return await self._into_ring(choice, sealed)
            except Exception as error:
                if self._store == "keyring":
                    raise TokenNotKept(
                        "The token could not be kept: this machine’s keyring does not answer, is locked or "
                        "is missing; unlock it, or set BRIDGE_TOKEN_STORE to file, then pair with a new code."
                    ) from error
                _log.info("No keyring here keeps secrets; the token goes into a sealed file.")
                _log.debug("The keyring failed its trial: %s", type(error).__name__)
        await self._write(self._records.write_sealed, sealed)
        return Choice(choice.account, "file")

    async def _into_ring(self, choice: Choice, sealed: str) -> Choice:
        if len(sealed) > rings.MOST_CHARACTERS:
            raise RingUnusable

        given_up = threading.Event()

        def put() -> str:
            name, ring = self._rings.best()
            rings.try_out(ring)
            # A keyring that comes back after the deadline must not get an entry that nobody remembers.
            if not given_up.is_set():
                ring.set_password(rings.SERVICE, choice.account, sealed)
            return name

        try:
            name = await threads.secrets.call(self._limit, put)
        finally:
            given_up.set()
        await self._write(self._records.drop_sealed)
        return Choice(choice.account, "keyring", name)

    async def _drop_entry(self, choice: Choice) -> None:
        """Remove a keyring entry, as far as the keyring answers; what stays is sealed and has no key."""
        if choice.kind != "keyring":
            return

        def delete() -> None:
            self._rings.named(choice.ring).delete_password(rings.SERVICE, choice.account)

        try:
            await threads.secrets.call(self._limit, delete)
        except Exception as error:
            _log.warning(
                "An entry of “%s” stays in the keyring, without the key that opens it (%s).",
                rings.SERVICE,
                _short(error),
            )

    async def _withdraw(self, choice: Choice) -> None:
        try:
            await self._write(self._records.drop)
        except TokenNotKept as error:
            _log.warning("%s", error)
        await self._drop_entry(choice)

    # ---- the disk

    async def _read(self, work: Callable[[], T]) -> T:
        try:
            return await threads.files.call(FILE_LIMIT_S, work)
        except (OSError, TimeoutError, BridgeError) as error:
            raise VaultNotReady(
                f"The files in {self._records.folder} can’t be read ({_short(error)}); give this program’s "
                "user the right to read them, and the Bridge carries on by itself."
            ) from error

    async def _write(self, work: Callable[..., None], *args: object) -> None:
        try:
            await threads.files.call(FILE_LIMIT_S, work, *args)
        except (OSError, TimeoutError, BridgeError) as error:
            raise TokenNotKept(
                f"The data folder {self._records.folder.parent} can’t be written ({_short(error)}); free "
                "some space or mend its rights, then try again."
            ) from error


def _short(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or type(error).__name__
    return str(text)


async def open_vault(
    settings: BridgeSettings, data_dir: Path, clock: Clock, sealer: Sealer | None = None
) -> Vault:
    """Return the vault that the settings ask for, its choice read; the keyring is not touched yet."""
    vault = Vault(settings.token_store, data_dir, clock, sealer=sealer)
    await vault.look()
    return vault
