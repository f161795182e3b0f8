"""Where the token is kept, sealed: the system's keyring or a private file, behind one small interface."""

from bridge_agent.vault.errors import TokenNotKept, VaultNotReady
from bridge_agent.vault.vault import Place, Vault, open_vault

__all__ = ["Place", "TokenNotKept", "Vault", "VaultNotReady", "open_vault"]
