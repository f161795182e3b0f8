"""The catalogue: every workload by its name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO, Literal

from bridge_agent.worker_api.workloads import concat, top_k
from bridge_agent.worker_api.workloads.schema import BadParameters, Schema, judged

TRANSCRIBE = "transcribe"

Reducer = Callable[[Iterable[BinaryIO], Mapping[str, Any], BinaryIO], None]


@dataclass(frozen=True)
class Workload:
    """What an upload may be for: what it takes, what it is split as, and how its partials are put together.

    The words of audio are put together by the pipeline, so that has no reducer here.
    """

    name: str
    schema: Schema
    source: Literal["table", "audio"]
    reducer: Reducer | None
    result_type: str
    result_name: str
    kept_from_tasks: frozenset[str] = frozenset()
    """Parameters that are taken and not handed to the workers."""

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters as its schema has them; raises BadParameters."""
        return judged(self.schema, given)

    def for_tasks(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the workers are told of the parameters."""
        return {name: value for name, value in parameters.items() if name not in self.kept_from_tasks}


def _schema(properties: dict[str, Any], **more: object) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties, **more}


_QUERY = {"type": "string", "minLength": 1, "maxLength": 200}
_SKIP = {"type": "boolean", "default": True}
_WEIGHT = {"type": "number", "minimum": 0}

SEARCH = _schema(
    {
        "query_id": _QUERY,
        "query_smiles": _QUERY,
        "top_k": {"type": "integer", "minimum": 1},
        "threshold": {"type": "number", "minimum": 0, "maximum": 1},
        "threshold_direction": {"type": "string", "enum": ["greater", "less"]},
        "progress_every": {"type": "integer", "minimum": 0},
        "max_rows": {"type": "integer", "minimum": 1},
    },
    oneOf=[{"required": ["query_id"]}, {"required": ["query_smiles"]}],
)
DESCRIPTORS = _schema({"skip_invalid": _SKIP})
WEIGHTS = _schema({"min_molwt": _WEIGHT, "max_molwt": _WEIGHT, "skip_invalid": _SKIP})
SPEECH = _schema(
    {
        "language": {"type": "string", "minLength": 2, "maxLength": 2},
        "model": {"type": "string", "minLength": 1, "maxLength": 200},
        "quality": {"type": "string", "enum": ["balanced", "accurate"]},
        "word_timestamps": {"type": "boolean", "default": True},
        "prompt": {"type": "string", "maxLength": 1024},
    }
)


def _table(name: str, schema: Schema, reducer: Reducer, kept: frozenset[str] = frozenset()) -> Workload:
    return Workload(name, schema, "table", reducer, "text/csv", f"{name}.csv", kept)


_MAX_ROWS = frozenset({"max_rows"})

CATALOGUE: Mapping[str, Workload] = MappingProxyType(
    {
        workload.name: workload
        for workload in (
            Workload(TRANSCRIBE, SPEECH, "audio", None, "application/json", "transcript.json"),
            _table("similarity-search", SEARCH, top_k.reduce, _MAX_ROWS),
            _table("similarity-search-parallel", SEARCH, top_k.reduce, _MAX_ROWS),
            _table("descriptor-batch", DESCRIPTORS, concat.reduce),
            _table("molwt-filter", WEIGHTS, concat.reduce),
        )
    }
)

__all__ = ["CATALOGUE", "TRANSCRIBE", "BadParameters", "Workload"]
