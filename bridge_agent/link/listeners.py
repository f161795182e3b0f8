"""Who is told what becomes of the link."""

import logging
from collections.abc import Callable
from typing import Literal, Protocol

_log = logging.getLogger(__name__)

Why = Literal["refused", "unpaired"]


class LinkListener(Protocol):
    """Something that lives by the link. Called on the event loop; must return at once."""

    def link_ready(self, server_id: str) -> None:
        """Hear that a heartbeat has gone through on a new link: jobs may run now (R-048)."""
        ...

    def link_down(self, why: Why) -> None:
        """Hear that the server refuses the token, or that the Bridge was unpaired: jobs stop (R-087)."""
        ...

    def link_changed(self) -> None:
        """Hear that something visible has changed."""
        ...


def tell(listeners: list[LinkListener], what: Callable[[LinkListener], None]) -> None:
    """Tell all; one that fails is logged and keeps the others from nothing."""
    for listener in list(listeners):
        try:
            what(listener)
        except Exception as error:
            _log.error("A listener of the link failed: %s", error, exc_info=error)
