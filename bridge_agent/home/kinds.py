"""The kinds of job that the server knows: for each, how its parameters are judged (R-092, R-095)."""

import re
from collections.abc import Callable, Mapping

from bridge_agent.home.errors import HomeError
from bridge_agent.protocol.bridge import MAX_HOLD_S, VERIFY
from bridge_agent.protocol.text import clean

TRANSCRIBE = "transcribe.book"
_LANGUAGE = re.compile(r"[a-z]{2}\Z")
_MODEL_BYTES = 128
_PROMPT_BYTES = 1024

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


def judge_transcribe(params: Params) -> Params:
    """Take the settings of a transcription, all optional; unlike elsewhere an unknown one is refused."""
    given = {name: value for name, value in params.items() if value is not None}
    for name, value in given.items():
        rule = _TRANSCRIBE.get(name)
        if rule is None:
            known = ", ".join(sorted(_TRANSCRIBE))
            raise InvalidParams(f"There is no parameter “{clean(name, 50)}”; there are {known}.")
        right, needs = rule
        if not right(value):
            raise InvalidParams(f"“{name}” takes {needs}; send that.")
    return given


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_text_of(most: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and 0 < len(value.encode("utf-8", "replace")) <= most


_TRANSCRIBE: dict[str, tuple[Callable[[object], bool], str]] = {
    "language": (
        lambda value: isinstance(value, str) and _LANGUAGE.match(value) is not None,
        "a language of two letters, like “en”",
    ),
    "model": (_is_text_of(_MODEL_BYTES), "the name of a model"),
    "quality": (lambda value: value in ("balanced", "accurate"), "“balanced” or “accurate”"),
    "word_timestamps": (_is_flag, "true or false"),
    "prompt": (_is_text_of(_PROMPT_BYTES), "names and places, at most 1 KiB"),
    "force": (_is_flag, "true or false"),
}

KNOWN: Kinds = {VERIFY: judge_verify, TRANSCRIBE: judge_transcribe}
