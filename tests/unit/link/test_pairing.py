"""Pairing from the page: each way it can end, and what is left behind."""

import asyncio

import pytest

from bridge_agent.link.client import Limits, ServerClient
from bridge_agent.link.errors import PairFailed
from bridge_agent.link.exchange import exchange
from bridge_agent.link.trust import trust
from bridge_agent.protocol.bridge import PairRequest
from bridge_agent.vault import TokenNotKept
from tests.fakes.server import (
    CODE,
    SERVER_ID,
    FakeServer,
    answer_error,
    answer_json,
    answer_redirect,
    answer_text,
    drop,
    hang,
    until,
    when,
)


async def failure(rig, url: str, code: str = CODE) -> PairFailed:
    with pytest.raises(PairFailed) as caught:
        await rig.link.pair(url, code)
    assert rig.link.state == "unpaired"
    assert await rig.vault.load() is None
    return caught.value


@pytest.mark.requirement("R-013", "R-014", "R-029")
async def test_pairing_keeps_the_token_and_beats_at_once(server, rigs):
    rig = await rigs().start()
    await rig.link.pair(f"  {server.url}/ ", "abcd 1234")
    assert rig.link.state in ("connecting", "online")
    await until(lambda: rig.link.online)

    (pair,) = server.of("pair")
    assert pair.json == {"code": "abcd 1234", "name": "Desk", "version": pair.json["version"]}
    assert "Authorization" not in pair.headers
    beat = server.of("status")[0]
    assert beat.at - pair.at < 2.0
    token = server.tokens[0]
    assert beat.headers["Authorization"] == f"Bearer {token}"
    for call in server.calls:
        assert token not in call.path
        assert token.encode() not in call.body
        assert not call.query
    assert await rig.vault.load() == token
    link = rig.link
    assert (link.server_url, link.server_name, link.server_id) == (server.url, "Fake home", SERVER_ID)
    assert [library.root for library in link.libraries] == ["/srv/books"]
    assert rig.ear.heard == [f"ready {SERVER_ID}"]


async def test_the_path_of_an_address_is_kept_in_every_call(rigs):
    async with FakeServer(base_path="/books") as server:
        rig = await rigs().start()
        await rig.pair(server)
        assert {call.path for call in server.calls} == {
            "/books/api/v1/bridge/pair",
            "/books/api/v1/bridge/status",
        }
        await rig.stop()


@pytest.mark.requirement("R-016")
async def test_a_paired_bridge_refuses_to_pair_again_until_unpaired(server, rigs):
    rig = await rigs().start()
    await rig.pair(server)
    with pytest.raises(PairFailed) as caught:
        await rig.link.pair(server.url, CODE)
    assert (caught.value.status, caught.value.code) == (409, "already_paired")
    assert len(server.of("pair")) == 1
    await rig.link.unpair()
    await rig.pair(server)
    assert len(server.of("pair")) == 2


async def test_two_pairings_at_once_spend_one_code(server, rigs):
    rig = await rigs().start()
    ends = await asyncio.gather(
        rig.link.pair(server.url, CODE), rig.link.pair(server.url, CODE), return_exceptions=True
    )
    assert [getattr(end, "code", None) for end in ends] == [None, "already_paired"]
    assert len(server.of("pair")) == 1


@pytest.mark.requirement("R-017")
@pytest.mark.parametrize(
    "answer", [answer_error(401, "invalid_code"), answer_text(401, "", "text/plain"), answer_json(401, {})]
)
async def test_a_401_says_wrong_used_or_expired_and_to_make_a_new_code(server, rigs, answer):
    server.script("pair", answer)
    failed = await failure(await rigs().start(), server.url)
    assert (failed.status, failed.code) == (422, "invalid_code")
    assert "wrong, used or expired" in failed.message
    assert "new one in the server’s console" in failed.message


@pytest.mark.requirement("R-018")
@pytest.mark.parametrize("status", [404, 405])
@pytest.mark.parametrize("body", ["", "404: Not Found", "<html>no</html>"])
async def test_a_server_without_the_route_is_to_be_updated(server, rigs, status, body):
    server.script("pair", answer_text(status, body, "text/html" if "<" in body else "text/plain"))
    failed = await failure(await rigs().start(), server.url)
    assert (failed.status, failed.code) == (422, "old_server")
    assert "does not know about a Bridge" in failed.message
    assert "update" in failed.message


@pytest.mark.requirement("R-019")
@pytest.mark.parametrize(
    "answer",
    [
        answer_error(403, "nope", "Only <b>on\x07 weekdays</b>."),
        answer_json(403, {"error": "x", "message": "Only <b>on\x07 weekdays</b>."}),
        answer_error(429, "rate_limited", "Only <b>on\x07 weekdays</b>.", {"Retry-After": "60"}),
        answer_json(400, {"message": "Only <b>on weekdays</b>" + "!" * 5000}),
    ],
)
async def test_another_refusal_is_told_in_the_servers_words_cleaned(server, rigs, answer):
    server.script("pair", answer)
    failed = await failure(await rigs().start(), server.url)
    assert (failed.status, failed.code) == (422, "refused")
    assert "refused" in failed.message
    assert "Only <b>on weekdays</b>" in failed.message
    assert len(failed.message) < 500


@pytest.mark.requirement("R-020")
async def test_a_certificate_that_cannot_be_verified_leads_to_the_http_address(rigs):
    async with FakeServer(tls=True) as server:
        failed = await failure(await rigs().start(), server.url)
        assert (failed.status, failed.code) == (502, "tls_untrusted")
        assert "http:// address on the local network" in failed.message
        assert server.calls == []


async def test_a_certificate_named_in_the_settings_is_trusted(rigs, tmp_path):
    async with FakeServer(tls=True) as server:
        authority = tmp_path / "home.pem"
        authority.write_bytes(server.certificate_pem)
        rig = await rigs(ca_file=str(authority)).start()
        await rig.pair(server)
        assert rig.link.server_url.startswith("https://")
        await rig.stop()


async def test_a_file_of_certificates_that_is_none_is_named(server, rigs, tmp_path):
    (tmp_path / "bad.pem").write_text("nothing")
    failed = await failure(await rigs(ca_file=str(tmp_path / "bad.pem")).start(), server.url)
    assert failed.status == 502
    assert "BRIDGE_CA_FILE" in failed.message
    assert server.calls == []


async def test_https_to_a_plain_port_hints_at_http(server, rigs):
    failed = await failure(await rigs().start(), server.url.replace("http:", "https:"))
    assert (failed.status, failed.code) == (502, "unreachable")
    assert "http://" in failed.message


@pytest.mark.requirement("R-022")
@pytest.mark.parametrize(
    "address",
    [
        "server",
        "ftp://x",
        "//x",
        "http:///x",
        "",
        "  ",
        "http://a b",
        "http://x:99999",
        "http://u:p@x",
        "x:1",
    ],
)
async def test_an_address_that_is_none_is_refused_without_a_call(server, rigs, address):
    failed = await failure(await rigs().start(), address)
    assert (failed.status, failed.code) == (400, "bad_address")
    assert server.calls == []


async def test_an_empty_code_is_refused_without_a_call(server, rigs):
    failed = await failure(await rigs().start(), server.url, "   ")
    assert (failed.status, failed.code) == (422, "invalid_code")
    assert server.calls == []


@pytest.mark.requirement("R-023")
async def test_a_server_that_is_not_there_is_unreachable(server, rigs):
    await server.stop()
    failed = await failure(await rigs().start(), server.url)
    assert (failed.status, failed.code) == (502, "unreachable")
    assert "can’t be reached" in failed.message


@pytest.mark.requirement("R-023")
@pytest.mark.parametrize("answer", [hang(), drop()])
async def test_a_server_that_hangs_or_hangs_up_is_unreachable_and_asked_once(server, clock, answer):
    server.script("pair", answer)
    quick = Limits(total=0.2, connect=0.2, read=0.2)
    client = ServerClient(server.url, None, clock, await trust(""), quick)
    with pytest.raises(PairFailed) as caught:
        await exchange(client, PairRequest(code=CODE))
    await client.close()
    assert (caught.value.status, caught.value.code) == (502, "unreachable")
    assert len(server.of("pair")) == 1


async def test_a_redirect_names_the_address_to_try_instead(server, rigs):
    server.script("pair", answer_redirect("https://books.example/sub/api/v1/bridge/pair", 301))
    failed = await failure(await rigs().start(), server.url)
    assert (failed.status, failed.code) == (502, "redirected")
    assert "https://books.example/sub instead" in failed.message
    assert len(server.calls) == 1


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_server_with_a_problem_of_its_own_is_told_so(server, rigs, status):
    server.script("pair", answer_text(status, "<html>"))
    failed = await failure(await rigs().start(), server.url)
    assert (failed.status, failed.code) == (502, "server_error")


@pytest.mark.parametrize(
    "answer",
    [
        answer_text(200, "<!DOCTYPE html><title>Hotel</title>"),
        answer_json(200, {"hello": "world"}),
        answer_json(200, {"token": "a\nb", "server": {"id": "i", "name": "n"}, "libraries": []}),
        answer_text(401, "<html>proxy</html>", headers={"WWW-Authenticate": "Basic"}),
        answer_text(403, "<html>blocked</html>"),
        answer_text(204, "", "text/plain"),
    ],
)
async def test_an_answer_that_is_not_this_apis_is_no_server(server, rigs, answer):
    server.script("pair", answer)
    failed = await failure(await rigs().start(), server.url)
    assert (failed.status, failed.code) == (502, "not_a_server")
    assert "no audiobook server" in failed.message


async def test_a_token_that_cannot_be_kept_leaves_the_bridge_unpaired(server, rigs, monkeypatch):
    rig = await rigs().start()

    async def full(_: str) -> None:
        raise TokenNotKept

    monkeypatch.setattr(rig.vault, "keep", full)
    failed = await failure(rig, server.url)
    assert failed.code == "token_not_kept"
    assert failed.message.endswith("then pair again.")
    assert server.of("status") == []


async def test_a_caller_that_goes_away_does_not_lose_the_token(server, rigs):
    rig = await rigs().start()
    go = asyncio.Event()
    server.script("pair", when(go))
    pairing = asyncio.ensure_future(rig.link.pair(server.url, CODE))
    await server.seen("pair")
    pairing.cancel()
    await asyncio.gather(pairing, return_exceptions=True)
    go.set()
    await until(lambda: rig.link.online)
    assert await rig.vault.load() == server.tokens[0]


@pytest.mark.requirement("R-012")
async def test_token_and_code_are_in_no_file_and_no_log(server, rigs, caplog):
    caplog.set_level("DEBUG")
    rig = await rigs().start()
    await rig.pair(server)
    await rig.stop()
    token = server.tokens[0].encode()
    files = [path for path in rig.folder.rglob("*") if path.is_file()]
    assert any(path.parent.name == "secrets" for path in files)
    for path in files:
        assert token not in path.read_bytes(), path
        assert CODE.encode() not in path.read_bytes(), path
    assert token.decode() not in caplog.text
    assert CODE not in caplog.text


@pytest.mark.requirement("R-025")
async def test_unpairing_forgets_here_and_tells_the_server_nothing(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.pair(server)
    before = len(server.calls)
    await rig.link.unpair()
    assert list((rig.folder / "secrets").iterdir()) == []
    assert await rig.vault.load() is None
    assert (rig.link.state, rig.link.ready.is_set()) == ("unpaired", False)
    assert "still lists it" in rig.link.reason
    assert rig.ear.heard[-1] == "down unpaired"
    rig.link.beat_now()
    await clock.advance(1000)
    assert len(server.calls) == before
    assert server.tokens != []


async def test_unpairing_what_was_never_paired_claims_nothing_of_a_server(rigs, clock):
    rig = await rigs(clock).start()
    before = rig.link.reason
    await rig.link.unpair()
    assert (rig.link.state, rig.link.reason) == ("unpaired", before)
