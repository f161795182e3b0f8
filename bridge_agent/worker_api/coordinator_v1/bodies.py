"""Bodies as the original server reads them: one JSON object, names in any case, nothing that is unknown."""

import json
import math
import re
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

import msgspec
from aiohttp import web

from bridge_agent.worker_api.uploads.refusals import Invalid

T = TypeVar("T", bound=msgspec.Struct)

MOST_BYTES = 1 << 20
_HEX = "([0-9a-fA-F]{%d})"
_HYPHENATED = "-".join(_HEX % digits for digits in (8, 4, 4, 4, 12))
_BARE = _HEX % 32
_UUID = re.compile(rf"(?:(?i:urn:uuid:)?{_HYPHENATED}|\{{{_HYPHENATED}\}}|{_BARE})\Z")


class Pairs(list[tuple[str, Any]]):
    """The members of an object as they stand, repeated ones too."""


async def read_body(request: web.Request, kind: type[T]) -> T:
    """Read a body as a message, its Content-Type not looked at; raises Invalid."""
    raw = bytearray()
    async for piece in request.content.iter_chunked(1 << 16):
        raw += piece
        if len(raw) > MOST_BYTES:
            raise Invalid("The body is too large.")
    return message(bytes(raw), kind)


def message(raw: bytes, kind: type[T]) -> T:
    """Read a message; raises Invalid.

    Names match in any case, `null` counts as absent, of two members of one name the last counts, and a member
    that nobody knows is refused, inside too.
    """
    value = parse(raw)
    if value is None:
        value = Pairs()
    if not isinstance(value, Pairs):
        raise Invalid("The body is no object.")
    try:
        return msgspec.convert(_members(value, kind), kind)
    except msgspec.ValidationError as error:
        raise Invalid(str(error)) from error


def parse(raw: bytes) -> Any:  # noqa: ANN401 - JSON of any shape
    """Read one JSON value, objects as Pairs; raises Invalid."""
    try:
        return _sound(
            json.loads(
                raw.decode("utf-8", "replace"),
                object_pairs_hook=Pairs,
                parse_constant=_none,
                parse_float=_finite,
            )
        )
    except (ValueError, RecursionError) as error:
        raise Invalid("The body is not valid JSON.") from error


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    """Return JSON with its objects as dicts."""
    if isinstance(value, Pairs):
        return {name: plain(inner) for name, inner in value}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def as_uuid(text: str) -> str | None:
    """Return a UUID in its usual form: bare, in braces, as an URN, without hyphens; None for another text."""
    found = _UUID.match(text)
    if found is None:
        return None
    digits = "".join(group for group in found.groups() if group).lower()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def in_path(request: web.Request, name: str = "id") -> str:
    """Read a UUID from the path; raises Invalid."""
    found = as_uuid(request.match_info[name])
    if found is None:
        raise Invalid("The id in the address is no UUID.")
    return found


def _members(pairs: Pairs, kind: type[msgspec.Struct]) -> dict[str, Any]:
    fields = _fields(kind)
    folded = {name.casefold(): name for name in fields}
    found: dict[str, Any] = {}
    for given, value in pairs:
        name = folded.get(given.casefold())
        if name is None:
            raise Invalid(f"The member “{given[:100]}” is unknown.")
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _value(value, fields[name])
    return found


@cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


def _value(value: Any, wanted: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    kinds = [wanted, *get_args(wanted)]
    struct = next((k for k in kinds if isinstance(k, type) and issubclass(k, msgspec.Struct)), None)
    if isinstance(value, Pairs):
        return plain(value) if struct is None else _members(value, struct)
    inner = next((get_args(k)[0] for k in kinds if get_origin(k) is list), None)
    if isinstance(value, list) and inner is not None:
        return [_value(one, inner) for one in value]
    return plain(value)


def _none(name: str) -> Any:  # noqa: ANN401
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _sound(value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    """Return JSON whose texts are sound: half a character becomes the sign for an unknown one."""
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, Pairs):
        return Pairs((_sound(name), _sound(inner)) for name, inner in value)
    return [_sound(inner) for inner in value] if isinstance(value, list) else value
