"""Exchanging a pairing code: one request, and a sentence for each way it can go wrong (R-017 … R-023)."""

import msgspec

from bridge_agent.link import answers
from bridge_agent.link.addresses import base_of_redirect
from bridge_agent.link.answers import Answer
from bridge_agent.link.client import ServerClient
from bridge_agent.link.errors import PairFailed, ServerAway
from bridge_agent.protocol.bridge import API, PairAnswer, PairRequest, decode_loosely

_ROUTE = f"{API}/bridge/pair"
_MOST_TOKEN = 900


async def exchange(client: ServerClient, request: PairRequest) -> PairAnswer:
    """Send the code once and return what the server gives for it; raises PairFailed."""
    try:
        answer = await client.pair_raw(request)
    except ServerAway as away:
        raise from_away(away) from away
    return judge(answer)


def from_away(away: ServerAway) -> PairFailed:
    """Return the page's error for a call that got no answer (R-020, R-023)."""
    return PairFailed(502, away.kind, away.message, away.retry_after)


def judge(answer: Answer) -> PairAnswer:
    """Return the pairing out of an answer; raises PairFailed with the page's code for any other."""
    status = answer.status
    if status in (200, 201):
        return _paired(answer)
    if 300 <= status < 400:
        raise _redirected(answer)
    if status == 401 and not _asked_by_a_proxy(answer):
        raise PairFailed(
            422,
            "invalid_code",
            "The code is wrong, used or expired; make a new one in the server’s console and pair with that.",
        )
    if status in (404, 405):
        raise PairFailed(
            422,
            "old_server",
            f"What answers at {_base(answer)} does not know about a Bridge; update the audiobook server, or "
            "check that this is its address.",
        )
    if status >= 500:
        raise PairFailed(
            502,
            "server_error",
            f"The server has a problem of its own (status {status}); look at its log, then try again.",
            answers.retry_after(answer),
        )
    if 400 <= status < 500 and status != 401 and not answer.is_page:
        raise _refused(answer)
    raise _not_a_server(answer)


def _paired(answer: Answer) -> PairAnswer:
    try:
        paired = decode_loosely(answer.body, PairAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_a_server(answer) from error
    token = paired.token
    if not token.isascii() or not token.isprintable() or " " in token or not 0 < len(token) <= _MOST_TOKEN:
        raise _not_a_server(answer)
    return paired


def _asked_by_a_proxy(answer: Answer) -> bool:
    """Tell a proxy's wish for a password from the server's refusal of the code (settled point 10)."""
    return answer.error() is None and (answer.is_page or "WWW-Authenticate" in answer.headers)


def _redirected(answer: Answer) -> PairFailed:
    instead = base_of_redirect(answer.url, answers.tidy(answer.headers.get("Location", "")), _ROUTE)
    return PairFailed(
        502,
        "redirected",
        f"The address {_base(answer)} leads elsewhere; pair with {instead} instead if that is your server, "
        "or sign in to this network first if it is a login page.",
    )


def _refused(answer: Answer) -> PairFailed:
    said = answers.said(answer)
    words = f": “{said}”" if said else f", without saying why (status {answer.status})."
    return PairFailed(
        422,
        "refused",
        f"The server refused the pairing{words} Put that right on the server, then try again.",
        (answers.retry_after(answer) or 60.0) if answer.status == 429 else None,
    )


def _not_a_server(answer: Answer) -> PairFailed:
    what = "a web page" if answer.is_page else "something else"
    return PairFailed(
        502,
        "not_a_server",
        f"What answers at {_base(answer)} is no audiobook server but {what} (status {answer.status}); check "
        "the address, and sign in to this network first if it asks for that.",
    )


def _base(answer: Answer) -> str:
    return answer.where.removesuffix(_ROUTE)
