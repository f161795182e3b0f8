"""The scheduler of a cluster: a connection that is kept up, and errands that go over it."""

import asyncio
import contextlib
import importlib
import importlib.util
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any

from bridge_agent.base.backoff import token
from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks, cancel_and_wait, within
from bridge_agent.base.threads import in_thread
from bridge_agent.transcription.cluster import errand as sent
from bridge_agent.transcription.cluster.foreign import Lost, foreign
from bridge_agent.transcription.cluster.messages import RESOURCE

LOOK_S = 1.0
"""Between two looks at who is there, while errands are under way or nobody is."""
IDLE_S = 5.0
"""The same while nobody wants anything."""
ANSWER_S = 10.0
"""A scheduler that does not answer within this is away."""
_CLOSE_S = 3.0
_LARGE = "distributed.admin.large-graph-warning-threshold"
_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application")

_log = logging.getLogger(__name__)

Heard = Callable[[str], None]


class Scheduler:
    """A scheduler by its address; `workers` says how many parts each worker hears at once, as of now."""

    def __init__(self, address: str, clock: Clock, tasks: Tasks) -> None:
        self._address = address
        self._clock = clock
        self._tasks = tasks
        self._client: Any = None
        self._keeper: asyncio.Task[None] | None = None
        self._listeners: dict[str, Heard] = {}
        self._waiting: set[asyncio.Event] = set()
        self.workers: Mapping[str, int] = {}
        self.topic = token("bridge-words-", 12)

    def start(self) -> None:
        """Begin to keep a connection up."""
        self._keeper = self._tasks.spawn(self._keep(), "cluster")

    async def close(self) -> None:
        """End the connection; errands under way are lost."""
        if self._keeper is not None:
            await cancel_and_wait(self._keeper)

    @property
    def possible(self) -> bool:
        """Whether Dask is installed here."""
        return importlib.util.find_spec("distributed") is not None

    def why_none(self) -> str | None:
        """Return the sentence on why no part can be heard there, or None."""
        if not self.possible:
            return (
                "BRIDGE_CLUSTER is set but Dask is not installed here; install the extra “cluster”, "
                "then start the Bridge again."
            )
        if self._client is None:
            return (
                f"The cluster’s scheduler {self._address} does not answer; start it, "
                "and the book goes on by itself."
            )
        if not self.workers:
            return (
                f"The cluster at {self._address} has no worker for speech; start one with "
                f"--resources “{RESOURCE}=1”, and the book goes on by itself."
            )
        return None

    async def run(self, errand: bytes, flac: bytes, among: Collection[str] | None, heard: Heard) -> bytes:
        """Have an errand done by one of these workers, or by any; a cancel reaches it within a second.

        Raises Lost when the scheduler or all of the workers are gone, and what Dask raises.
        """
        client = self._client
        if client is None:
            raise Lost
        key = token("bridge-part-", 16)
        future = client.submit(
            sent.run,
            errand,
            flac,
            key=key,
            pure=False,
            resources={RESOURCE: 1},
            workers=None if among is None else list(among),
            allow_other_workers=False,
        )
        # No word comes before this call has let go of the loop.
        self._listeners[key] = heard
        answer = self._tasks.spawn(foreign(future), "errand of a cluster", awaited=True)
        try:
            return await self._answered(client, answer, among)
        finally:
            del self._listeners[key]
            answer.cancel()
            await self._tasks.shielded(_let_go(future), "end of a cluster's errand")

    async def _answered(
        self, client: Any,  # noqa: ANN401
        answer: "asyncio.Task[bytes]",
        among: Collection[str] | None,
    ) -> bytes:  # fmt: skip
        news = asyncio.Event()
        self._waiting.add(news)
        answer.add_done_callback(lambda _: news.set())
        try:
            while not answer.done():
                there = self.workers.keys() if among is None else self.workers.keys() & set(among)
                if self._client is not client or not there:
                    raise Lost
                news.clear()
                await self._clock.wait(news, ANSWER_S)
            return answer.result()
        finally:
            self._waiting.discard(news)

    async def _keep(self) -> None:
        while True:
            try:
                async with self._connected() as client:
                    while client.status == "running":
                        told = await within(ANSWER_S, foreign(client.scheduler.identity(n_workers=-1)))
                        self._client = client
                        self._see(_offers(told["workers"]))
                        await self._clock.sleep(LOOK_S if self._waiting or not self.workers else IDLE_S)
            except Exception as error:  # whatever a library raises: it is tried again
                if self._client is not None:
                    _log.warning("The cluster’s scheduler %s is lost: %r", self._address, error)
            finally:
                self._client = None
                self._see({})
            await self._clock.sleep(LOOK_S)

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[Any]:
        library = await in_thread(_library)
        client = library.Client(
            self._address, asynchronous=True, set_as_default=False, timeout=ANSWER_S, name="bridge"
        )
        try:
            await foreign(client)
            client.subscribe_topic(self.topic, self._told)
            yield client
        finally:
            self._client = None
            await self._tasks.shielded(_closed(client), "end of a cluster's client")

    def _see(self, workers: Mapping[str, int]) -> None:
        if workers.keys() != self.workers.keys():
            _log.info("The cluster at %s has %d workers for speech.", self._address, len(workers))
        self.workers = workers
        for news in self._waiting:
            news.set()

    def _told(self, event: tuple[float, dict[str, str]]) -> None:
        words = event[1]
        if (heard := self._listeners.get(words["key"])) is not None:
            heard(words["text"])


def _library() -> Any:  # noqa: ANN401
    """Import Dask. A part's audio goes with its task on purpose, and a lost connection is told here once."""
    library = importlib.import_module("distributed")
    importlib.import_module("cloudpickle").register_pickle_by_value(sent)
    importlib.import_module("dask").config.set({_LARGE: "1GiB"})
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return library


def _offers(workers: Mapping[str, Any]) -> dict[str, int]:
    """Return how often each worker offers speech, of those that offer it."""
    found = {
        address: int(each.get("resources", {}).get(RESOURCE, 0))
        for address, each in workers.items()
        if each.get("status", "running") == "running"
    }
    return {address: places for address, places in found.items() if places > 0}


async def _let_go(future: Any) -> None:  # noqa: ANN401
    """Have the scheduler forget a task, stopped if it runs."""
    try:
        if not future.done():
            await within(_CLOSE_S, foreign(future.cancel()))
    except Exception as error:  # it is gone with its scheduler then
        _log.debug("A task of the cluster could not be cancelled: %r", error)
    future.release()


async def _closed(client: Any) -> None:  # noqa: ANN401
    try:
        await within(_CLOSE_S, foreign(client.close()))
    except Exception as error:  # nobody is left who could be told
        _log.debug("The cluster's client did not close: %r", error)
