"""The compose file that the pairing card offers: what starts a paired Bridge in Docker."""

import json
from collections.abc import Iterable, Mapping

_PLACE = "/audiobooks"


def compose_file(env: Mapping[str, str], roots: Iterable[str] = ()) -> str:
    """Return a compose file with the pairing lines in it, and each library at the path that the server uses.

    Values are written as JSON strings, which are YAML strings too, so that nothing in them can be markup.
    """
    lines = [
        "services:",
        "  bridge:",
        "    image: audiobook-bridge-agent",
        "    restart: unless-stopped",
        '    ports: ["13380:13380", "13381:13381"]',
        "    environment:",
    ]
    lines += [f"      {name}: {_text(value)}" for name, value in env.items()]
    lines += ["    volumes:", "      - bridge-config:/config"]
    lines += [f"      - {_text(f'{root}:{root}')}" for root in list(roots) or [_PLACE]]
    lines += ["volumes:", "  bridge-config:"]
    return "\n".join(lines)


def _text(value: str) -> str:
    # Compose reads a dollar as the begin of a variable.
    return json.dumps(value.replace("$", "$$"), ensure_ascii=False)
