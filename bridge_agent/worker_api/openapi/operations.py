"""Operations: one route each, as the document is made of them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]
Kind = type[Any] | Schema | str
"""A message of ours, a schema written out, or the name of a component."""

_PARAMETER = re.compile(r"\{(\w+)\}")
_TEXT: Schema = {"type": "string"}


@dataclass(frozen=True)
class Bytes:
    """A body or an answer that is no JSON."""

    media_type: str = "application/octet-stream"
    schema: Schema | None = None


Content = Kind | Bytes | None


@dataclass(frozen=True)
class Operation:
    """A method of a path: what it takes and what it answers, by status.

    An answer is its content, or None for an empty body. `errors` are statuses whose body is the wire's own
    shape of an error; `query` and `headers` are parameters by name (a name that begins with `!` is required).
    """

    method: str
    path: str
    summary: str
    takes: Content = None
    gives: Mapping[int, Content] = field(default_factory=dict)
    errors: tuple[int, ...] = ()
    query: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, Schema] = field(default_factory=dict)
    open: bool = False
    optional_body: bool = False


@dataclass(frozen=True)
class Wire:
    """Operations that share a place, a way to sign in and a shape of errors."""

    tag: str
    about: str
    server: Mapping[str, Any]
    security: tuple[str, ...]
    error: Content
    operations: tuple[Operation, ...]
    error_texts: Mapping[int, Content] = field(default_factory=dict)
    path_schemas: Mapping[str, Schema] = field(default_factory=dict)


class Writer:
    """Writes wires as OpenAPI; `messages` are the types among them, whose schemas become components."""

    def __init__(self, references: Mapping[type[Any], Schema]) -> None:
        self._references = references

    def paths(self, wire: Wire) -> dict[str, Any]:
        """Return a wire's path items."""
        found: dict[str, Any] = {}
        for operation in wire.operations:
            item = found.setdefault(operation.path, {"servers": [dict(wire.server)]})
            item[operation.method.lower()] = self._operation(wire, operation)
        return found

    def _operation(self, wire: Wire, operation: Operation) -> dict[str, Any]:
        made: dict[str, Any] = {
            "tags": [wire.tag],
            "operationId": _id(wire, operation),
            "summary": operation.summary,
            "responses": self._responses(wire, operation),
            "security": [] if operation.open else [{name: []} for name in wire.security],
        }
        parameters = list(_parameters(wire, operation))
        if parameters:
            made["parameters"] = parameters
        if operation.takes is not None:
            required = not operation.optional_body
            made["requestBody"] = {"required": required, "content": self._content(operation.takes)}
        return made

    def _responses(self, wire: Wire, operation: Operation) -> dict[str, Any]:
        refused = () if operation.open else (401, 429)
        found: dict[str, Any] = {}
        for status, content in operation.gives.items():
            found[str(status)] = self._response(status, content)
        for status in sorted({*operation.errors, *refused} - set(operation.gives)):
            found[str(status)] = self._response(status, wire.error_texts.get(status, wire.error))
        return found

    def _response(self, status: int, content: Content) -> dict[str, Any]:
        made: dict[str, Any] = {"description": _WORDS.get(status, "An answer")}
        if content is not None:
            made["content"] = self._content(content)
        return made

    def _content(self, content: Content) -> dict[str, Any]:
        if isinstance(content, Bytes):
            return {content.media_type: {} if content.schema is None else {"schema": dict(content.schema)}}
        return {"application/json": {"schema": self._schema(content)}}

    def _schema(self, kind: Kind | None) -> Schema:
        if isinstance(kind, str):
            return {"$ref": f"#/components/schemas/{kind}"}
        if isinstance(kind, type):
            return self._references[kind]
        return dict(kind or {})


def types_of(wires: Iterable[Wire]) -> list[type[Any]]:
    """Return the messages that wires name, each once, in the order of their names."""
    found: dict[str, type[Any]] = {}
    for wire in wires:
        for operation in wire.operations:
            for content in (operation.takes, *operation.gives.values(), wire.error):
                if isinstance(content, type) and content is not Bytes:
                    found[content.__name__] = content
    return [found[name] for name in sorted(found)]


def _parameters(wire: Wire, operation: Operation) -> Iterable[dict[str, Any]]:
    for name in _PARAMETER.findall(operation.path):
        schema = wire.path_schemas.get(name, _TEXT)
        yield {"name": name, "in": "path", "required": True, "schema": dict(schema)}
    for place, named in (("query", operation.query), ("header", operation.headers)):
        for name, schema in named.items():
            yield {
                "name": name.removeprefix("!"),
                "in": place,
                "required": name.startswith("!"),
                "schema": dict(schema),
            }


def _id(wire: Wire, operation: Operation) -> str:
    words = [word for word in re.split(r"[^a-z0-9]+", operation.path.lower()) if word]
    return "_".join((re.sub(r"[^a-z0-9]+", "_", wire.tag.lower()), operation.method.lower(), *words))


_WORDS = {
    200: "Done",
    201: "Made",
    202: "Taken; it goes on by itself",
    204: "Done, and nothing to say",
    206: "A part of it",
    304: "It is as it was",
    400: "What was sent is not right",
    401: "The credential is missing or worth nothing here",
    403: "Not from there, or not with this credential",
    404: "There is no such thing",
    405: "Not by this method",
    409: "It is not in a state for that",
    413: "Too large",
    415: "Of a type that is not taken",
    416: "It has no such part",
    422: "The server refused it",
    429: "Too often; wait as Retry-After says",
    500: "Something went wrong here",
    502: "The server could not be reached",
    503: "Not just now; wait as Retry-After says",
}
