"""What can go wrong with keeping a token; “not yet” is not “lost”."""

from bridge_agent.base.errors import BridgeError, TryLater


class VaultNotReady(TryLater):
    """The keyring does not answer yet; unlock it, and the Bridge carries on by itself."""

    code = "vault_not_ready"


class TokenNotKept(BridgeError):
    """The token could not be kept on this machine; free some space in the data folder, then pair again."""

    code = "token_not_kept"


class RingUnusable(BridgeError):
    """This machine has no keyring that can keep a secret; set BRIDGE_TOKEN_STORE to file."""

    code = "no_keyring"
