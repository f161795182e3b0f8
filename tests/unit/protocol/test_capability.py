"""A client checks the flag and the feature."""

import pytest

from bridge_agent.protocol.capability import offers


@pytest.mark.requirement("R-045")
@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ({"capabilities": {"bridge": True}, "bridge": {"version": "1", "features": ["bridge"]}}, True),
        ({"capabilities": {"bridge": True}, "bridge": {"version": "1", "features": []}}, False),
        ({"capabilities": {"bridge": True}, "bridge": {"version": "1", "features": ["speech"]}}, False),
        ({"capabilities": {"bridge": False}, "bridge": {"version": "1", "features": ["bridge"]}}, False),
        ({"capabilities": {"bridge": False}}, False),
        ({"name": "an older server"}, False),
    ],
)
def test_a_feature_is_on_only_where_flag_and_feature_both_are(server, expected):
    assert offers(server, "bridge") is expected
