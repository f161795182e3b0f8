"""The parameters of `transcribe.book`, judged once more here: a Bridge takes nobody's word for them."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridge_agent.base.errors import BridgeError
from bridge_agent.transcription.model import Settings

_LANGUAGE = re.compile(r"[a-z]{2}\Z")
_PROMPT_BYTES = 1024


class BadParams(BridgeError):
    """The job’s parameters are not right; queue it anew with right ones."""

    code = "invalid_params"


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What a job may ask for; an empty model is the Bridge's own."""

    language: str | None = None
    model: str = ""
    quality: str = "balanced"
    word_timestamps: bool = True
    prompt: str = ""
    force: bool = False

    def settings(self, author: str) -> Settings:
        """Return the settings of the transcription; the author's name is one to listen for."""
        return Settings(
            language=self.language,
            model=self.model,
            quality=self.quality,
            word_timestamps=self.word_timestamps,
            prompt=self.prompt,
            hotwords=(author,) if author else (),
        )


def read(params: Mapping[str, Any], known_model: Callable[[str], bool]) -> Params:
    """Read a job's parameters; raises BadParams."""
    try:
        found = msgspec.convert({k: v for k, v in params.items() if v is not None}, Params)
    except msgspec.ValidationError as error:
        raise BadParams(
            f"The job’s parameters are not right ({error}); queue it anew with right ones."
        ) from error
    if found.language is not None and not _LANGUAGE.match(found.language):
        raise BadParams("“language” takes a language of two letters, like “en”; queue the job anew with one.")
    if found.quality not in ("balanced", "accurate"):
        raise BadParams("“quality” takes “balanced” or “accurate”; queue the job anew with one of them.")
    if len(found.prompt.encode("utf-8", "replace")) > _PROMPT_BYTES:
        raise BadParams(
            "“prompt” takes names and places, at most 1 KiB; queue the job anew with a shorter one."
        )
    if found.model and not known_model(found.model):
        raise BadParams(
            f"The Bridge knows no speech model “{found.model[:100]}”; queue the job anew with another name, "
            "or without one."
        )
    return found
