"""The gates before a handler: Host, body types, Sec-Fetch-Site and Origin, failure limits, addresses."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from bridge_agent.web import passwords
from bridge_agent.web.addresses import client_address, counted_as
from bridge_agent.web.errors import ApiError
from bridge_agent.web.failures import FailureLimit
from bridge_agent.web.security import Csrf, HostPolicy, judge_origin, machine_names


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:13380",
        "[::1]:13380",
        "localhost",
        "LOCALHOST:1",
        "a.localhost",
        "192.168.1.5:80",
    ],
)
def test_own_hosts_are_served(host):
    assert HostPolicy([], "X").permits(host)


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", ""])
def test_other_hosts_are_not_and_the_setting_is_named(host):
    policy = HostPolicy([], "BRIDGE_ALLOWED_HOSTS")
    assert not policy.permits(host)
    refusal = policy.refusal(host)
    assert refusal.status == 403
    assert "BRIDGE_ALLOWED_HOSTS" in refusal.message


def test_the_machine_s_name_and_the_allowed_ones_are_served():
    policy = HostPolicy(["books.example.org"], "X")
    assert policy.permits("books.example.org:443")
    assert all(policy.permits(name) for name in machine_names())


def request(method="POST", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return make_mocked_request(method, "/", headers={"Host": "127.0.0.1:13380", **named})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec_Fetch_Site": "same-origin"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": "http://127.0.0.1:13380"},
        {"Origin": "https://books.example.org"},
    ],
)
def test_own_pages_and_programs_pass(headers):
    assert judge_origin(request(**headers), ["https://books.example.org/bridge"]) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
        {"Origin": "http://evil.example", "Sec_Fetch_Site": "same-origin"},
    ],
)
def test_other_sites_pages_are_refused(headers):
    with pytest.raises(ApiError) as caught:
        judge_origin(request(**headers), [])
    assert caught.value.status == 403


def test_reading_is_never_judged():
    assert judge_origin(request("GET", Sec_Fetch_Site="cross-site"), []) is None


def test_a_form_token_is_bound_to_its_session():
    csrf = Csrf()
    assert csrf.check("a", csrf.token("a")) is None
    with pytest.raises(ApiError, match="load the page again"):
        csrf.check("b", csrf.token("a"))


@pytest.mark.requirement("R-009")
async def test_ten_failures_limit_an_address_and_a_success_clears_them(clock):
    limit = FailureLimit(clock)
    for _ in range(9):
        limit.failed("10.0.0.1")
    assert limit.check("10.0.0.1") is None
    limit.failed("10.0.0.1")
    with pytest.raises(ApiError) as caught:
        limit.check("10.0.0.1")
    assert caught.value.status == 429
    assert 890 <= int(caught.value.response().headers["Retry-After"]) <= 900
    assert limit.check("10.0.0.2") is None
    await clock.advance(901)
    assert limit.check("10.0.0.1") is None
    for _ in range(10):
        limit.failed("10.0.0.1")
    limit.succeeded("10.0.0.1")
    assert limit.check("10.0.0.1") is None


def test_ipv6_is_counted_by_its_network():
    assert counted_as("2001:db8::1") == counted_as("2001:db8::ffff:2")
    assert counted_as("2001:db8:0:1::1") != counted_as("2001:db8::1")
    assert counted_as("::ffff:10.0.0.1") == "10.0.0.1"


def with_peer(peer: str, forwarded: str | None):
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return make_mocked_request("GET", "/", headers=headers).clone(remote=peer)


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("10.0.0.9", "1.2.3.4", "10.0.0.9"),
        ("192.168.0.2", "1.2.3.4", "1.2.3.4"),
        ("192.168.0.2", "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        ("192.168.0.2", "1.2.3.4, 192.168.0.3", "1.2.3.4"),
        ("192.168.0.2", "junk", "192.168.0.2"),
        ("192.168.0.2", None, "192.168.0.2"),
    ],
)
def test_a_forwarded_address_is_believed_only_behind_a_named_proxy(peer, forwarded, expected):
    assert client_address(with_peer(peer, forwarded), ["192.168.0.0/24"]) == expected


async def test_passwords_match_their_hash_and_nothing_else():
    stored = await passwords.hash_password("correct horse")
    assert "correct" not in stored
    assert await passwords.matches("correct horse", stored)
    assert not await passwords.matches("wrong", stored)
    assert not await passwords.matches("", None)
    assert len(passwords.generate()) == 19


def test_an_error_has_the_one_shape():
    response = ApiError(409, "not_held", "Stop.", extra={"state": "done"}).response()
    assert response.body == b'{"error":{"code":"not_held","message":"Stop.","state":"done"}}'
    assert "Retry-After" not in response.headers
    assert "Retry-After" in ApiError(503, "x", "y").response().headers
    assert isinstance(response, web.Response)
