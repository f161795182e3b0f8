"""Which workers of a cluster can hear with a model, as far as they have said so."""

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.transcription.model import EngineInfo

AGAIN_S = 60.0
"""A worker that could not is asked again after this."""


class Fitness:
    """What workers said, by their address and the model's name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._unfit: dict[tuple[str, str], tuple[float, BridgeError]] = {}
        self._known: dict[tuple[str, str], EngineInfo] = {}

    def can(self, worker: str, model: str, info: EngineInfo | None) -> None:
        """A worker can hear with a model."""
        self._unfit.pop((worker, model), None)
        if info is not None:
            self._known[worker, model] = info

    def can_not(self, worker: str, model: str, error: BridgeError) -> None:
        """A worker can't hear with a model just now."""
        self._known.pop((worker, model), None)
        self._unfit[worker, model] = (self._clock.monotonic() + AGAIN_S, error)

    def why_not(self, worker: str, model: str | None = None) -> BridgeError | None:
        """Return what keeps a worker from hearing with a model, with any that it was asked for by default."""
        now = self._clock.monotonic()
        for (address, name), (until, error) in self._unfit.items():
            if address == worker and until > now and model in (None, name):
                return error
        return None

    def info(self, worker: str, model: str) -> EngineInfo | None:
        """Return which engine a worker has for a model, where it has said so."""
        return self._known.get((worker, model))

    def ask_again(self, model: str) -> None:
        """Forget who could not hear with a model."""
        self._unfit = {key: found for key, found in self._unfit.items() if key[1] != model}
