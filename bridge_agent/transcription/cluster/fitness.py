"""Which workers of a cluster can hear with a model, as far as they have said so."""

from collections import defaultdict
from collections.abc import Collection

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.transcription.model import EngineInfo

AGAIN_S = 60.0
"""A worker that could not is asked again after this."""


class Fitness:
    """What workers said, by their address and the model's name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._unfit: defaultdict[str, dict[str, tuple[float, BridgeError]]] = defaultdict(dict)
        self._known: defaultdict[str, dict[str, EngineInfo]] = defaultdict(dict)

    def __len__(self) -> int:
        return len(self._unfit.keys() | self._known.keys())

    def keep(self, workers: Collection[str]) -> None:
        """Forget all workers but these: one that has gone comes back under another address."""
        for said in (self._unfit, self._known):
            for gone in said.keys() - workers:
                del said[gone]

    def can(self, worker: str, model: str, info: EngineInfo | None) -> None:
        """A worker can hear with a model."""
        self._unfit[worker].pop(model, None)
        if info is not None:
            self._known[worker][model] = info

    def can_not(self, worker: str, model: str, error: BridgeError) -> None:
        """A worker can't hear with a model just now."""
        self._known[worker].pop(model, None)
        self._unfit[worker][model] = (self._clock.monotonic() + AGAIN_S, error)

    def why_not(self, worker: str, model: str | None = None) -> BridgeError | None:
        """Return what keeps a worker from hearing with a model, with any that it was asked for by default."""
        now = self._clock.monotonic()
        for name, (until, error) in self._unfit.get(worker, {}).items():
            if until > now and model in (None, name):
                return error
        return None

    def info(self, worker: str, model: str) -> EngineInfo | None:
        """Return which engine a worker has for a model, where it has said so."""
        return self._known.get(worker, {}).get(model)

    def ask_again(self, model: str) -> None:
        """Forget who could not hear with a model."""
        for said in self._unfit.values():
            said.pop(model, None)
