"""The ear: a part's FLAC file goes in, its partial comes out, by the same children as on a Bridge."""

from pathlib import Path
from typing import Protocol

from bridge_agent.base.clock import Clock
from bridge_agent.transcription.audio.errors import AudioError, DecoderUnavailable
from bridge_agent.transcription.engines.base import Context, Heard
from bridge_agent.transcription.engines.errors import EngineError, EngineUnavailable
from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.models.errors import ModelError
from bridge_agent.worker import partial
from bridge_agent.worker.errors import PartFailed, Unfit

_WEIGHT = 0.3
_SHORTEST_S = 5.0


class Pool(Protocol):
    """What is asked of the engine pool."""

    @property
    def size(self) -> int:
        """How many parts can be heard at once."""
        ...

    async def transcribe(self, pcm: bytes, context: Context) -> Heard:
        """Hear a part."""
        ...


class Pcm(Protocol):
    """What is asked of the audio decoder."""

    async def pcm(self, path: Path) -> bytes:
        """Return a part's samples."""
        ...


class Hearing:
    """One part that is being heard: since when, and how long its audio is."""

    def __init__(self, began: float) -> None:
        """Begin; the audio's length is known once it is read."""
        self.began = began
        self.audio_s: float | None = None


class Ear:
    """Hears parts, several at once, and knows how fast: `speed` in seconds of audio a second, 0 at first."""

    def __init__(self, pool: Pool, decoder: Pcm, clock: Clock) -> None:
        self._pool = pool
        self._decoder = decoder
        self._clock = clock
        self._under_way: set[Hearing] = set()
        self.speed = 0.0
        self.parts = 0
        self.audio_s = 0.0

    @property
    def size(self) -> int:
        """How many parts can be heard at once."""
        return max(1, self._pool.size)

    def next_free_in(self) -> float | None:
        """Return in how many seconds the next part should be heard; None while that can't be told."""
        now = self._clock.monotonic()
        known = [h.began + h.audio_s / self.speed - now for h in self._under_way if h.audio_s and self.speed]
        return min(known) if known and len(known) == len(self._under_way) else None

    async def hear(self, path: Path, context: Context) -> bytes:
        """Return a part's partial; raises PartFailed, Unfit."""
        hearing = Hearing(self._clock.monotonic())
        self._under_way.add(hearing)
        try:
            pcm = await self._decoder.pcm(path)
            hearing.audio_s = len(pcm) / 2 / RATE
            heard = await self._pool.transcribe(pcm, context)
        except (EngineUnavailable, ModelError, DecoderUnavailable) as error:
            raise Unfit(error.message) from error
        except (EngineError, AudioError) as error:
            raise PartFailed(error.code, error.message) from error
        finally:
            self._under_way.discard(hearing)
        self._measure(hearing.audio_s, self._clock.monotonic() - hearing.began)
        return partial.write(heard)

    def _measure(self, audio_s: float, seconds: float) -> None:
        self.parts += 1
        self.audio_s += audio_s
        if audio_s >= _SHORTEST_S and seconds > 0:
            now = audio_s / seconds
            self.speed = now if not self.speed else self.speed + _WEIGHT * (now - self.speed)
