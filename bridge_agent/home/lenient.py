"""Reading what a Bridge sends even where its texts are not quite JSON: a name off a disk must not stop a job.

File names and messages of a system can hold what JSON or UTF-8 forbids (lone surrogates, control characters).
Refusing such a report would leave its job to be done again for ever, so these become spaces instead (R-038,
R-065). What is wrong in structure is still refused.
"""

import json
from typing import TypeVar

import msgspec

T = TypeVar("T")


def decode(raw: bytes, kind: type[T]) -> T:
    """Read a body as a message; raises msgspec.ValidationError for its structure, DecodeError for no JSON."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        raise
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deep") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return msgspec.convert(_plain_json(raw, error), type=kind)


def _plain_json(raw: bytes, first: Exception) -> object:
    try:
        return _whole(json.loads(raw.decode("utf-8", "replace"), strict=False, parse_constant=_refuse))
    except (ValueError, RecursionError):
        raise msgspec.DecodeError(str(first)) from first


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _whole(value: object) -> object:
    if isinstance(value, str):
        return "".join(" " if 0xD800 <= ord(c) < 0xE000 else c for c in value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {str(_whole(name)): _whole(item) for name, item in value.items()}
    return value
