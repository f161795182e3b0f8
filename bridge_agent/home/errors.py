"""The root of the home server's refusals: each knows the status of its answer."""

from collections.abc import Mapping

from bridge_agent.base.errors import BridgeError


class HomeError(BridgeError):
    """The server can't do this; look at the log for why."""

    status = 400
    extra: Mapping[str, object] | None = None


class NotFound(HomeError):
    """There is nothing with this id here; load the list again."""

    code = "not_found"
    status = 404


class Conflict(HomeError):
    """This can't be done as things stand; load the page again."""

    code = "conflict"
    status = 409
