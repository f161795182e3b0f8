"""A crowd of simulated workers in a process of its own: `python -m tests.benchmarks.worker_crowd FILE`.

FILE is a Crowd as JSON. Each worker claims a part, fetches its audio, hands its words in a second after the
claim, and claims the next. What they saw is printed as JSON.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp

_PART_S = 1.0
_AGAIN_S = 0.2
_SEGMENT = {"start": 0.0, "end": 1.0, "text": "a word"}


@dataclass(frozen=True)
class Crowd:
    """Where they go, a token each, and for how long; `wire` is `coordinator` or `worker/v1`."""

    url: str
    tokens: list[str]
    wire: str
    seconds: float


@dataclass
class Seen:
    """What they saw: seconds that claims took, how many parts were handed in, refusals."""

    claims: list[float] = field(default_factory=list)
    nothing: int = 0
    handed_in: int = 0
    odd: list[str] = field(default_factory=list)
    seconds: float = 0.0


Ask = Callable[..., Awaitable[tuple[int, dict[str, Any]]]]


class Worker:
    """One of them."""

    def __init__(self, http: aiohttp.ClientSession, crowd: Crowd, token: str, seen: Seen) -> None:
        self._http, self._crowd, self._seen = http, crowd, seen
        self._auth = {"Authorization": f"Bearer {token}"}

    async def go(self, begins: float, ends: float) -> None:
        """Work from one time of the clock to another."""
        me = ""
        if self._crowd.wire == "coordinator":
            body = {"name": "one of many", "capabilities": ["transcribe"]}
            _, found = await self._ask("POST", "/workers/register", json=body)
            me = found["worker_id"]
        await asyncio.sleep(max(0.0, begins - perf_counter()))
        one = self._coordinator if me else self._worker_v1
        while perf_counter() < ends:
            began = perf_counter()
            if not await one(me, began):
                await asyncio.sleep(_AGAIN_S)

    async def _coordinator(self, me: str, began: float) -> bool:
        status, task = await self._ask("POST", "/tasks/claim", json={"worker_id": me})
        if not self._claimed(status, began):
            return False
        path = f"/tasks/{task['task_id']}"
        await self._ask("GET", f"{path}/input")
        await self._heard(began)
        headers = {"X-Worker-ID": me, "X-Task-Attempt": str(task["attempt"])}
        partial = {"segments": [_SEGMENT], "language": "en"}
        _, kept = await self._ask("PUT", f"{path}/artifacts/partial.json", json=partial, headers=headers)
        body = {
            "worker_id": me,
            "attempt": task["attempt"],
            "result": {"artifact_id": kept.get("artifact_id", "")},
        }
        self._done(await self._ask("POST", f"{path}/result", json=body))
        return True

    async def _worker_v1(self, _me: str, began: float) -> bool:
        status, found = await self._ask("POST", "/worker/v1/jobs/claim")
        if not self._claimed(status, began):
            return False
        job = found["job"]
        await self._ask("GET", job["sourceUrl"].removeprefix(self._crowd.url))
        await self._heard(began)
        body = {"text": "a word", "language": "en", "duration": 1.0}
        self._done(await self._ask("POST", f"/worker/v1/jobs/{job['id']}/result", json=body))
        return True

    def _claimed(self, status: int, began: float) -> bool:
        self._seen.claims.append(perf_counter() - began)
        self._seen.nothing += status == 204
        if status not in (200, 204):
            self._seen.odd.append(f"claim {status}")
        return status == 200

    async def _heard(self, began: float) -> None:
        await asyncio.sleep(max(0.0, began + _PART_S - perf_counter()))

    def _done(self, answer: tuple[int, dict[str, Any]]) -> None:
        self._seen.handed_in += answer[0] == 200

    async def _ask(self, method: str, path: str, **more: Any) -> tuple[int, dict[str, Any]]:
        headers = {**self._auth, **more.pop("headers", {})}
        async with self._http.request(method, self._crowd.url + path, headers=headers, **more) as answer:
            raw = await answer.read()
            if answer.status >= 400:
                self._seen.odd.append(f"{method} {path}: {answer.status} {raw[:200]!r}")
            return answer.status, json.loads(raw) if raw.startswith(b"{") else {}


async def main(crowd: Crowd) -> Seen:
    """Let them work, the first claims spread over the second that a part takes."""
    seen = Seen()
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as http:
        first = perf_counter() + 2.0
        ends = first + crowd.seconds
        count = len(crowd.tokens)
        workers = [Worker(http, crowd, token, seen) for token in crowd.tokens]
        await asyncio.gather(
            *(worker.go(first + _PART_S * n / count, ends) for n, worker in enumerate(workers))
        )
        seen.seconds = perf_counter() - first
    return seen


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(main(Crowd(**json.loads(Path(sys.argv[1]).read_text())))))))
