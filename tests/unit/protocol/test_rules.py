"""The pure rules of the wire: text limits, codes, leases, kinds, addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.protocol import bridge, codes, leases, states, text
from bridge_agent.protocol.states import JobState


@given(st.text(), st.integers(min_value=0, max_value=50))
@pytest.mark.requirement("R-038", "R-065", "R-066")
def test_text_is_cut_in_bytes_at_a_character_s_edge(value, most):
    cut = text.cut(value, most)
    assert len(cut.encode()) <= most
    assert value.encode("utf-8", "replace").decode().startswith(cut)


def test_control_characters_become_spaces_and_line_breaks_stay_where_asked():
    assert text.clean("a\x00b\x1bc\nd\x85", 100) == "a b c d "
    assert text.clean("a\x07b\nc\r", 100, keep_line_breaks=True) == "a b\nc "


@pytest.mark.parametrize("typed", ["7kqm-4xhd", " 7KQM 4XHD ", "7KQM4XHD", "7-k-q-m-4-x-h-d"])
def test_a_code_is_taken_in_either_case_with_or_without_spaces_and_dashes(typed):
    assert codes.normal(typed) == "7KQM4XHD"


def test_letters_that_look_like_figures_count_as_those():
    assert codes.normal("OIL0-1234") == "01101234"


@pytest.mark.parametrize("typed", ["", "7KQM4XH", "7KQM4XHDD", "7KQM4XHU", "7KQM4XH!"])
def test_what_can_t_be_a_code_is_none(typed):
    assert codes.normal(typed) is None


@given(st.binary(min_size=8, max_size=8))
def test_a_made_code_reads_back(raw):
    code = codes.from_bytes(raw)
    assert codes.normal(codes.shown(code)) == code


@pytest.mark.requirement("R-067", "R-068", "R-069")
def test_what_a_lapse_makes_of_a_job():
    assert leases.lapse(1, 3, False) == leases.Lapse(JobState.QUEUED, None, False)
    failed = leases.lapse(3, 3, False)
    assert (failed.state, failed.error) == (JobState.FAILED, "the Bridge stopped reporting on every attempt")
    assert leases.lapse(3, 3, True) == leases.Lapse(JobState.CANCELLED, None, True)


def test_trust_ends_before_the_lease_and_counts_from_the_request_s_start():
    trust = leases.Trust.from_request(1000.0, 120)
    assert trust.holds(1109.9)
    assert not trust.holds(1110.0)
    assert leases.Trust.from_request(0, None) == leases.Trust.from_request(0, 120.0)


@given(st.sampled_from(list(JobState)), st.integers(1, 5), st.integers(1, 5))
@pytest.mark.requirement("R-064")
def test_only_the_present_attempt_of_a_held_job_may_write(state, held, attempt):
    assert leases.may_write(held, state, attempt) == (state in states.HELD and held == attempt)


def test_no_state_follows_an_end_and_the_bridge_never_queues():
    assert all(not states.FOLLOWS[state] for state in states.ENDED)
    assert JobState.QUEUED not in states.REPORTABLE
    assert set(states.FOLLOWS) == set(JobState)


@pytest.mark.parametrize(("kind", "good"), [("bridge.verify", True), ("a.b", True), ("a1_.b_2", True)])
def test_kinds_of_the_form(kind, good):
    assert bridge.is_kind(kind) is good


@pytest.mark.parametrize("kind", ["", "a", "a.", ".b", "A.b", "a.b.c", "1a.b", "a.b\n", "a-b.c"])
def test_kinds_not_of_the_form(kind):
    assert not bridge.is_kind(kind)


@pytest.mark.parametrize(
    "url", ["server", "ftp://x", "//x", "http:///x", "", "http://", "http://a:b", "javascript:x"]
)
@pytest.mark.requirement("R-022", "R-037")
def test_addresses_that_are_not_absolute_http_urls(url):
    assert not bridge.is_web_address(url)


@pytest.mark.parametrize("url", ["http://a", "https://a.b:8443/sub", "http://[::1]:1/"])
def test_addresses_that_are(url):
    assert bridge.is_web_address(url)


def test_unknown_fields_are_ignored_and_absent_ones_left_out():
    beat = bridge.decode(
        b'{"version":"1","kinds":[],"new":1,"libraries":[],"workers":[],"ui_url":null}', bridge.Heartbeat
    )
    assert beat.version == "1"
    assert bridge.plain(bridge.Progress(step="a", message="b")) == {"step": "a", "message": "b"}
    result = bridge.VerifyResult(
        library_id=1, mount_path="/", path="a", files=[], writable=True, elapsed_ms=1
    )
    assert "writable_error" not in bridge.plain(result)
