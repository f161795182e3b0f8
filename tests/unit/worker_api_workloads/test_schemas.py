"""What each workload takes as parameters."""

from typing import Any

import pytest

from bridge_agent.worker_api.workloads.catalogue import CATALOGUE, BadParameters
from bridge_agent.worker_api.workloads.schema import whole_numbers


def test_the_catalogue_has_the_five_workloads_that_uploads_may_name():
    assert sorted(CATALOGUE) == [
        "descriptor-batch",
        "molwt-filter",
        "similarity-search",
        "similarity-search-parallel",
        "transcribe",
    ]


@pytest.mark.requirement("S-12")
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("similarity-search", {}),
        ("similarity-search", {"query_id": "A", "query_smiles": "C"}),
        ("similarity-search", {"query_id": ""}),
        ("similarity-search", {"query_id": "x" * 201}),
        ("similarity-search", {"query_id": 1}),
        ("similarity-search", {"query_id": "A", "top_k": 0}),
        ("similarity-search", {"query_id": "A", "top_k": 2.5}),
        ("similarity-search", {"query_id": "A", "top_k": True}),
        ("similarity-search", {"query_id": "A", "top_k": "3"}),
        ("similarity-search", {"query_id": "A", "threshold": 1.1}),
        ("similarity-search", {"query_id": "A", "threshold_direction": "up"}),
        ("similarity-search", {"query_id": "A", "progress_every": -1}),
        ("similarity-search", {"query_id": "A", "other": 1}),
        ("descriptor-batch", {"skip_invalid": 1}),
        ("descriptor-batch", {"query_id": "A"}),
        ("molwt-filter", {"min_molwt": -1}),
        ("transcribe", {"force": True}),
        ("transcribe", {"quality": "best"}),
    ],
)
def test_parameters_against_the_schema_are_refused(name: str, given: dict[str, Any]):
    with pytest.raises(BadParameters):
        CATALOGUE[name].parameters(given)


def test_whole_numbers_stay_integers():
    found = CATALOGUE["similarity-search"].parameters({"query_id": "A", "top_k": 3.0, "threshold": 0.5})
    assert repr(found["top_k"]) == "3"
    assert found["threshold"] == 0.5
    assert (
        repr(whole_numbers({"a": [1.0, 2.5, {"b": -0.0}], "c": True}))
        == "{'a': [1, 2.5, {'b': 0}], 'c': True}"
    )


def test_max_rows_among_the_parameters_is_taken_and_not_handed_on():
    workload = CATALOGUE["similarity-search"]
    assert workload.for_tasks(workload.parameters({"query_id": "A", "max_rows": 2, "top_k": 1})) == {
        "query_id": "A",
        "top_k": 1,
    }
