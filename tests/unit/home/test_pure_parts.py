"""The parts that only compute: moments, ranges, lenient bodies, addresses, parameters."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.home import heartbeats, lenient, reports
from bridge_agent.home.kinds import KNOWN, TRANSCRIBE, InvalidParams
from bridge_agent.home.moment import Moment
from bridge_agent.home.pairing import server_url
from bridge_agent.protocol.bridge import VERIFY, Report
from bridge_agent.settings import HomeSettings
from bridge_agent.web.errors import ApiError
from bridge_agent.web.ranges import Part, Unsatisfiable, part_of

MOMENT = Moment(datetime(2026, 1, 1, 12, tzinfo=UTC), 50.0)


@pytest.mark.parametrize(
    ("text", "deadline"),
    [
        ("2026-01-01T12:01:00.000Z", 110.0),
        ("2026-01-01T11:00:00.000Z", 50.0),
        ("2027-01-01T00:00:00.000Z", 170.0),
    ],
)
def test_a_deadline_from_before_a_restart_is_never_past_nor_longer_than_it_may_be(text: str, deadline: float):
    assert MOMENT.reached_again(text, 120.0) == deadline


def test_a_moment_that_was_seen_is_never_ahead():
    assert MOMENT.seen_again("2026-01-01T11:59:00.000Z") == -10.0
    assert MOMENT.seen_again("2026-01-02T00:00:00.000Z") == 50.0


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, Part(0, 100, False)),
        ("bytes=0-", Part(0, 100, True)),
        ("bytes=10-19", Part(10, 10, True)),
        ("bytes=-10", Part(90, 10, True)),
        ("bytes=-1000", Part(0, 100, True)),
        ("bytes=99-5000", Part(99, 1, True)),
        ("bytes=1-2,4-5", Part(0, 100, False)),
        ("lines=1-2", Part(0, 100, False)),
    ],
)
def test_ranges(header: str | None, expected: Part):
    request = make_mocked_request("GET", "/", headers={} if header is None else {"Range": header})
    assert part_of(request, 100, '"tag"') == expected


def test_a_range_past_the_end_is_no_part():
    with pytest.raises(Unsatisfiable):
        part_of(make_mocked_request("GET", "/", headers={"Range": "bytes=100-"}), 100, '"tag"')
    with pytest.raises(Unsatisfiable):
        part_of(make_mocked_request("GET", "/", headers={"Range": "bytes=0-"}), 0, '"tag"')


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b'{"attempt": NaN}', b"[" * 100_000])
def test_what_is_no_json_stays_refused(raw: bytes):
    with pytest.raises(msgspec.DecodeError):
        lenient.decode(raw, Report)


@given(st.text(max_size=20), st.binary(max_size=10))
def test_any_text_in_a_report_is_taken(text: str, noise: bytes):
    body = msgspec.json.encode({"attempt": 1, "state": "failed", "error": text})
    assert reports.parse(body).error is not None
    odd = b'{"attempt": 1, "state": "failed", "error": "%s"}' % noise.replace(b'"', b"").replace(b"\\", b"")
    assert len(reports.parse(odd).error or "") <= 2048


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["version", "kinds", "libraries", "workers", "ui_url", "library_id", "name"]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_any_heartbeat_is_kept_or_refused_by_name(body: object):
    try:
        raw = msgspec.json.encode(body)
    except (UnicodeEncodeError, OverflowError, ValueError):
        return
    kept, refused = None, None
    try:
        kept = heartbeats.parse(raw)
    except ApiError as error:
        refused = error
    if refused is not None:
        assert (refused.status, refused.code) == (400, "invalid_status")
        assert refused.extra["field"]
    else:
        assert kept is not None
        assert len(set(kept.kinds)) == len(kept.kinds)


@pytest.mark.parametrize(
    ("settings", "origin", "expected"),
    [
        ({"address": "http://a", "public_url": "https://b"}, "http://c", "http://a"),
        ({"public_url": "https://b", "tls": "self-signed"}, "https://c", "https://b"),
        ({}, "http://c:1", "http://c:1"),
        ({"tls": "self-signed"}, "https://c:1", "http://c:1"),
        ({"tls": "self-signed"}, "https://[::1]:8", "http://[::1]:8"),
        ({"address": "https://nas/home", "tls": "self-signed"}, "http://c", "http://nas:443/home"),
        ({"address": "https://nas", "tls": "a;b"}, "http://c", "https://nas"),
    ],
)
def test_the_address_for_the_bridge(tmp_path: Path, settings: dict[str, str], origin: str, expected: str):
    assert server_url(HomeSettings(data_dir=tmp_path, **settings), origin) == expected


@pytest.mark.parametrize(
    ("params", "right"),
    [
        ({}, True),
        ({"language": "en", "model": "small", "quality": "accurate", "force": True}, True),
        ({"word_timestamps": False, "prompt": "Rocky, Hail Mary"}, True),
        ({"language": "english"}, False),
        ({"language": 1}, False),
        ({"quality": "best"}, False),
        ({"quality": []}, False),
        ({"word_timestamps": 1}, False),
        ({"model": ""}, False),
        ({"prompt": "x" * 1025}, False),
        ({"hold_seconds": 1}, False),
    ],
)
def test_a_transcriptions_parameters(params: dict[str, object], right: bool):
    judge = KNOWN[TRANSCRIBE]
    if right:
        assert judge({**params, "model": params.get("model")}) == params
    else:
        with pytest.raises(InvalidParams):
            judge(params)


def test_a_verifys_parameters():
    judge = KNOWN[VERIFY]
    assert judge({}) == {}
    assert judge({"hold_seconds": 0}) == {}
    assert judge({"hold_seconds": 600}) == {"hold_seconds": 600}
    for hold in (601, -1, 2.0, "5", True, [], {}):
        with pytest.raises(InvalidParams):
            judge({"hold_seconds": hold})
