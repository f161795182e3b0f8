"""The kinds of job that the server knows: for each, how its parameters are judged (R-092, R-095)."""

from collections.abc import Callable, Mapping

from bridge_agent.home.errors import HomeError
from bridge_agent.protocol.bridge import MAX_HOLD_S, VERIFY

Params = dict[str, object]
Judge = Callable[[Params], Params]
"""Returns the parameters as they are stored; raises InvalidParams."""
Kinds = Mapping[str, Judge]


class InvalidParams(HomeError):
    """The job’s parameters are not right; correct them and try again."""

    code = "invalid_params"


def judge_verify(params: Params) -> Params:
    """Take `hold_seconds`, a whole number from 0 to 600; 0 is stored as nothing (R-098)."""
    hold = params.get("hold_seconds")
    if hold is None:
        return {}
    if not isinstance(hold, int) or isinstance(hold, bool) or not 0 <= hold <= MAX_HOLD_S:
        raise InvalidParams(f"“hold_seconds” takes a whole number from 0 to {MAX_HOLD_S}; send one.")
    return {"hold_seconds": hold} if hold else {}


KNOWN: Kinds = {VERIFY: judge_verify}
