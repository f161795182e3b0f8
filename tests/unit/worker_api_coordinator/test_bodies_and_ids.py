"""Bodies as the original reads them, and ids that carry numbers: for anything that may come."""

import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.worker_api.coordinator_v1 import answers, bodies, messages
from bridge_agent.worker_api.coordinator_v1.part_ids import NumberedIds
from bridge_agent.worker_api.uploads.refusals import Invalid

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.binary(max_size=60) | _JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_message_or_invalid(raw: bytes):
    for kind in (messages.Register, messages.Result, messages.Describe):
        try:
            found = bodies.message(raw, kind)
        except Invalid:
            continue
        assert isinstance(found, kind)


@given(_JSON)
def test_what_is_written_is_json_again_and_safe_in_a_page(value: Any):
    raw = answers.encoded(value)
    assert raw.endswith(b"\n")
    assert not set(raw) & set(b"<>&")
    assert json.loads(raw) == value


@given(st.text(max_size=4), st.dictionaries(st.text(max_size=4), _JSON, max_size=3))
def test_members_that_hold_anything_keep_their_names_as_they_are(code: str, metrics: dict[str, Any]):
    body = {"ERROR_CODE": code, "Attempt": 2}
    found = bodies.message(json.dumps(body).encode(), messages.Fail)
    assert (found.error_code, found.attempt) == (code, 2)
    result = bodies.message(json.dumps({"metrics": metrics}).encode(), messages.Result)
    assert result.metrics == metrics


@pytest.mark.parametrize(
    "raw", [b'{"metrics":{"a":1e999}}', b'{"metrics":{"a":[NaN]}}', b'{"metrics":{"a":-Infinity}}']
)
def test_numbers_that_are_none_are_refused_wherever_they_stand(raw: bytes):
    with pytest.raises(Invalid):
        bodies.message(raw, messages.Result)


@given(st.integers(0, 2**48 - 1), st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_a_number_comes_back_out_of_its_id_and_out_of_no_other(number: int, key: bytes, other: bytes):
    ids = NumberedIds(key)
    made = ids.of(number)
    assert bodies.as_uuid(made) == made
    assert uuid.UUID(made).version == 8
    assert ids.number(made) == number
    assert ids.number(made.upper()) == number
    if NumberedIds(other).of(0) != ids.of(0):
        assert NumberedIds(other).number(made) is None


@given(st.uuids())
def test_the_four_forms_of_an_id_mean_the_same(found: uuid.UUID):
    for form in (str(found), found.hex.upper(), f"{{{found}}}", found.urn):
        assert bodies.as_uuid(form) == str(found)


@pytest.mark.parametrize(
    "text", ["", "x" * 36, "0" * 33, "１" * 32, "urn:uuid:" + "0" * 32, "{" + "0" * 36 + ")"]
)
def test_anything_else_is_no_id(text: str):
    assert bodies.as_uuid(text) is None
