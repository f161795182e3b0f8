"""Schemas of parameters: the part of JSON Schema that the workloads use, judged strictly."""

import math
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


class BadParameters(Exception):
    """The parameters are not what the workload takes."""


def judged(schema: Schema, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters that a schema allows, whole numbers of integer fields as integers.

    The public runner refuses `top_k: 3.0`, and Python would keep it so. Raises BadParameters.
    """
    fields: Mapping[str, Schema] = schema["properties"]
    unknown = sorted(set(parameters) - set(fields))
    if unknown:
        raise BadParameters(f"{unknown[0]} is unknown")
    found = {name: _value(name, fields[name], value) for name, value in parameters.items()}
    choices = schema.get("oneOf")
    if choices is not None and sum(choice["required"][0] in found for choice in choices) != 1:
        raise BadParameters("exactly one of " + ", ".join(choice["required"][0] for choice in choices))
    return found


def _value(name: str, field: Schema, value: object) -> object:
    if "enum" in field:
        if not isinstance(value, str) or value not in field["enum"]:
            raise BadParameters(f"{name} is none of its values")
        return value
    kind = field["type"]
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "string" and isinstance(value, str):
        return _text(name, field, value)
    if kind in ("number", "integer") and isinstance(value, int | float) and not isinstance(value, bool):
        return _number(name, field, value)
    raise BadParameters(f"{name} is no {kind}")


def _text(name: str, field: Schema, value: str) -> str:
    # Lengths count characters, as JSON Schema has it.
    if not field.get("minLength", 0) <= len(value) <= field.get("maxLength", len(value)):
        raise BadParameters(f"{name} is too short or too long")
    return value


def _number(name: str, field: Schema, value: int | float) -> int | float:
    if not math.isfinite(value):
        raise BadParameters(f"{name} is no number")
    if field["type"] == "integer" and isinstance(value, float):
        if not value.is_integer():
            raise BadParameters(f"{name} is no whole number")
        value = int(value)
    if value < field.get("minimum", value) or value > field.get("maximum", value):
        raise BadParameters(f"{name} is out of its bounds")
    return value


def whole_numbers(value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    """Return JSON in which a number without a fraction is an integer, as the original server sends it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: whole_numbers(inner) for name, inner in value.items()}
    return [whole_numbers(inner) for inner in value] if isinstance(value, list) else value
