"""What this machine keeps of a pairing: the row in the store, the token in the vault, the folder's mark."""

import logging

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.link import record
from bridge_agent.link.copies import OwnFolder
from bridge_agent.link.errors import PairFailed
from bridge_agent.link.record import Pairing
from bridge_agent.protocol.bridge import PairAnswer
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database
from bridge_agent.vault import Vault

_log = logging.getLogger(__name__)


class Keeping:
    """Keeps one pairing: it counts only with both its row and its token, in a folder of its own."""

    def __init__(self, settings: BridgeSettings, clock: Clock, db: Database, vault: Vault) -> None:
        """Prepare; nothing is read before `load`."""
        self._clock = clock
        self._db = db
        self._vault = vault
        self._folder = OwnFolder(settings.data_dir)
        self.copied = False
        """Whether the folder is a copy of another Bridge's, so that its pairing is not ours."""

    async def load(self) -> Pairing | None:
        """Return the kept pairing; None for none, and in a copied folder (settled point 20)."""
        pairing = await self._db.read(record.load)
        if pairing is None:
            await self._folder.claim()
            return None
        self.copied = await self._folder.is_copy()
        return None if self.copied else pairing

    async def keep(self, address: str, answer: PairAnswer) -> Pairing:
        """Keep the token, then the pairing; raises PairFailed 500 with nothing kept."""
        pairing = Pairing(
            address,
            answer.server.id,
            answer.server.name,
            to_text(self._clock.now()),
            tuple(answer.libraries),
        )
        try:
            if self.copied:
                await self._vault.disown()
            await self._vault.keep(answer.token)
            await self._db.write(lambda c: record.save(c, pairing))
        except BaseException as error:
            await self._withdraw_token()
            if isinstance(error, BridgeError):
                raise PairFailed(500, error.code, error.message) from error
            raise
        await self._own_folder()
        return pairing

    async def keep_libraries(self, pairing: Pairing) -> None:
        """Keep what the server lists now; a disk that refuses costs no heartbeat, it is listed again."""
        try:
            await self._db.write(lambda c: record.save_libraries(c, pairing))
        except BridgeError as error:
            _log.warning("The server’s libraries can’t be kept: %s", error)

    async def forget(self, copied: bool) -> None:
        """Forget the token, then the pairing; what belongs to a copy's original is left alone.

        Raises BridgeError when the disk refuses.
        """
        if self.copied or copied:
            await self._vault.disown()
            await self._own_folder()
        else:
            await self._vault.forget()
        await self._db.write(record.delete)

    async def _own_folder(self) -> None:
        self.copied = False
        await self._folder.claim()

    async def _withdraw_token(self) -> None:
        try:
            await self._vault.forget()
        except BridgeError as error:
            _log.warning("%s", error)
