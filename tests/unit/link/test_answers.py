"""Reading answers: only this API's own words count, and nothing that comes makes the reader stumble."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.base.errors import BridgeError
from bridge_agent.link import answers, exchange
from bridge_agent.link.addresses import base_of_redirect, server_address
from bridge_agent.link.answers import Answer
from bridge_agent.link.errors import NoHeartbeat, NotHeld, PairFailed, Rejected, ServerAway, TokenRefused
from bridge_agent.protocol.bridge import Book, ClaimAnswer, Library, PairAnswer, ReportAnswer, is_web_address

URL = "http://home:13390/api/v1/bridge/status?token=x"


def answer(status: int, body: str = "", kind: str = "application/json", **headers: str) -> Answer:
    return Answer(status, {"Content-Type": kind, **headers}, body.encode(), URL)


def api_error(status: int, code: str, **extra: str) -> Answer:
    more = "".join(f', "{name}": "{value}"' for name, value in extra.items())
    return answer(status, f'{{"error": {{"code": "{code}", "message": "Said so."{more}}}}}')


@pytest.mark.parametrize(
    ("given_answer", "error"),
    [
        (api_error(401, "unauthorized"), TokenRefused),
        (api_error(409, "not_held", state="cancelled"), NotHeld),
        (api_error(409, "no_heartbeat"), NoHeartbeat),
        (api_error(409, "artifact_exists"), Rejected),
        (api_error(400, "invalid_report"), Rejected),
        (api_error(413, "result_too_large"), Rejected),
        (answer(413, "<html>too large", "text/html"), Rejected),
        (answer(404, "404: Not Found", "text/plain"), Rejected),
        (answer(404, "<html>", "text/html"), ServerAway),
        (answer(401, "<html>", "text/html"), ServerAway),
        (answer(401, '{"message": "who are you"}'), ServerAway),
        (answer(403, '{"message": "no"}'), Rejected),
        (answer(403, "", "text/plain"), ServerAway),
        (api_error(429, "rate_limited"), ServerAway),
        (api_error(500, "internal"), ServerAway),
        (api_error(503, "unauthorized"), ServerAway),
        (answer(409, '{"error": "not_held", "message": "M"}'), NotHeld),
        (answer(409, '{"error": {"code": "not_held"}}'), NotHeld),
        (answer(409, '{"error": "no_heartbeat"}'), NoHeartbeat),
        (answer(401, '{"error": {"code": "unauthorized"}}'), TokenRefused),
        (answer(401, '{"error": "unauthorized", "message": "M"}'), ServerAway),
        (answer(302, "", Location="http://login/"), ServerAway),
        (answer(200, "[]"), ServerAway),
        (answer(204), ServerAway),
    ],
)
def test_each_answer_means_one_thing(given_answer, error):
    with pytest.raises(error) as caught:
        answers.value(given_answer, Library)
    assert type(caught.value) is error
    assert "token=x" not in str(caught.value)


def test_not_held_tells_the_jobs_present_state():
    with pytest.raises(NotHeld) as caught:
        answers.value(api_error(409, "not_held", state="cancelled"), Library)
    assert caught.value.state == "cancelled"
    with pytest.raises(NotHeld) as caught:
        answers.value(api_error(409, "not_held"), Library)
    assert caught.value.state is None


def test_a_missing_route_is_told_whatever_its_body_where_asked():
    with pytest.raises(Rejected) as caught:
        answers.fail(answer(405, "<html>nginx", "text/html"), route_may_be_missing=True)
    assert caught.value.status == 405


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date_of_the_servers_clock(text, seconds):
    headers = {"Retry-After": text, "Date": "Thu, 01 Jan 2026 00:00:00 GMT"}
    assert answers.retry_after(answer(503, "", **headers)) == seconds


def test_a_server_without_space_is_told_as_that():
    with pytest.raises(ServerAway, match="The server’s disk is full; free some space there"):
        answers.fail(api_error(503, "store_full"))


headers = st.dictionaries(
    st.sampled_from(["Content-Type", "Location", "Retry-After", "Date", "WWW-Authenticate"]), st.text()
)
any_answer = st.builds(
    Answer, status=st.integers(200, 599), headers=headers, body=st.binary(), url=st.just(URL)
)


@given(any_answer)
def test_no_answer_raises_anything_but_an_error_in_words(given_answer):
    for read in (lambda a: answers.value(a, Library), exchange.judge):
        with pytest.raises(BridgeError) as caught:
            read(given_answer)
        assert caught.value.message[0].isupper()
        assert caught.value.message.isprintable()


@given(st.text() | st.builds("http://{}/{}".format, st.text(), st.text()))
def test_an_address_is_absolute_or_refused(text):
    with contextlib.suppress(PairFailed):
        address = server_address(text)
        assert is_web_address(address)
        assert server_address(address) == address
        assert not address.endswith("/")


@pytest.mark.parametrize(
    ("typed", "called"),
    [
        (" http://Home:13390/ ", "http://home:13390"),
        ("HTTPS://books.example/sub/path//", "https://books.example/sub/path"),
        ("http://home:13390/api/v1", "http://home:13390"),
        ("http://home/sub/api/v1/?x=1#/settings", "http://home/sub"),
        ("http://[fe80::1]:13390", "http://[fe80::1]:13390"),
    ],
)
def test_addresses_are_tidied_and_keep_their_path(typed, called):
    assert server_address(typed) == called


def test_a_redirect_of_one_route_gives_the_address_of_the_whole():
    route = "/api/v1/bridge/pair"
    called = f"http://home:13390{route}"
    for location, instead in (
        (f"https://b.example/sub{route}?x", "https://b.example/sub"),
        ("https://login.example/portal", "https://login.example/portal"),
        (f"/sub{route}", "http://home:13390/sub"),
        ("http://[", "http://["),
    ):
        assert base_of_redirect(called, location, route) == instead


def test_what_a_sparse_server_leaves_out_or_sets_to_null_has_a_default():
    job = (
        '{"job": {"id": 1, "attempt": 2, "kind": "a.b", "path": null, "params": null, "lease_seconds": null}}'
    )
    claimed = answers.value(answer(200, job), ClaimAnswer).job
    assert claimed is not None
    assert (claimed.path, claimed.params, claimed.lease_seconds) == ("", {}, 120.0)
    assert answers.value(answer(200, '{"job": null}'), ClaimAnswer).job is None
    book = answers.value(answer(200, '{"path": "A/B", "files": [{"path": "A/B/1", "size": 1}]}'), Book)
    assert (book.author, book.chapters, book.files[0].size) == ("", [], 1)
    paired = answers.value(answer(200, '{"token": "t", "server": {"id": "s"}}'), PairAnswer)
    assert (paired.server.name, paired.libraries) == ("", [])
    taken = answers.value(answer(200, '{"id": 1, "cancel_requested": true}'), ReportAnswer)
    assert (taken.cancel_requested, taken.lease_seconds) == (True, 120.0)


def test_nulls_inside_a_jobs_params_are_left_to_its_handler():
    job = '{"job": {"id": 1, "attempt": 2, "kind": "a.b", "params": {"language": null}}}'
    claimed = answers.value(answer(200, job), ClaimAnswer).job
    assert claimed is not None
    assert claimed.params == {"language": None}


@pytest.mark.parametrize(
    ("body", "taken"),
    [("{}", True), ('{"state": "running"}', True), ('{"status": "sign in"}', False), ("[]", False)],
)
def test_another_machines_object_is_no_taken_report(body, taken):
    assert answers.speaks_of(answer(200, body), ReportAnswer) is taken


@pytest.mark.parametrize("status", [200, 400, 401, 409])
def test_a_bottomless_answer_is_no_answer_of_this_api(status):
    deep = '{"job": ' * 50_000
    closed = "[" * 900 + "]" * 900
    for body in (deep, closed, f'{{"error": {closed}}}'):
        with pytest.raises(ServerAway):
            answers.value(answer(status, body), ClaimAnswer)
