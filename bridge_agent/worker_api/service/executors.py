"""The workers as the pipeline's executors: they claim parts by themselves, and are handed none."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import overload

from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.engines.errors import EngineUnavailable
from bridge_agent.transcription.model import EngineInfo, PartResult
from bridge_agent.transcription.pipeline.executor import Download, Executor, PartWork, WordsSoFar
from bridge_agent.worker_api.tokens import Member, Tokens

ENGINE = "faster-whisper"
"""The engine that a book is planned for where workers alone transcribe."""
_LONGEST_S = 86_400.0


class WorkerExecutor:
    """One invited worker."""

    pulls = True

    def __init__(self, member: Member, places: int, default_model: str, *, any_model: bool) -> None:
        self._member = member
        self._any_model = any_model
        self._default_model = default_model
        self.places = places

    @property
    def name(self) -> str:
        """The name that it was invited by."""
        return self._member.name

    def why_none(self) -> str | None:
        """Return the sentence on why it is given no parts, or None."""
        if self._member.parked is not None:
            return f"The worker “{self.name}” is parked: {self._member.parked}"
        if self._member.paused:
            return f"The worker “{self.name}” is paused; resume it on the Bridge’s page."
        return None

    def why_not(self, planned: str) -> str | None:
        """Return the sentence on why it takes no parts of a book planned for a model, or None."""
        if self._any_model or self._member.model == planned:
            return None
        return (
            f"No worker that is there hears with the model “{planned}”, and BRIDGE_WORKER_ANY_MODEL=off "
            "allows no other; start one with that model, and the book goes on by itself."
        )

    async def info(self, model: str, download: Download) -> EngineInfo:
        """Return which engine a book is planned for where this worker is to transcribe it."""
        named = model or self._member.model or self._default_model
        return EngineInfo(name=ENGINE, version="", model=named, device="", compute_type="")

    def worst_case(self, samples: int) -> float:
        """Return the seconds that a part may take it: its claims live from one sign of life to the next."""
        return _LONGEST_S

    async def run(self, work: PartWork, heard: WordsSoFar) -> PartResult:
        """Refuse: it claims its parts by itself."""
        raise EngineUnavailable(f"The worker “{self.name}” claims its parts by itself; wait for it.")

    async def detect_language(self, path: Path, model: str) -> dict[str, float] | None:
        """Return None: it is asked for parts alone, each in the language that it seems to be in."""
        return None


class WorkerExecutors(Sequence[Executor]):
    """All invited workers, as they are now."""

    def __init__(self, settings: BridgeSettings, tokens: Tokens) -> None:
        """Look at the tokens; nobody holds anything before a service says otherwise."""
        self._tokens = tokens
        self._default_model = PurePath(settings.speech_model).name
        self._any_model = settings.worker_any_model
        self.working: Callable[[int], bool] = lambda token_id: False
        """Tells whether a token's workers hold parts; set by the service."""

    def __len__(self) -> int:
        return len(self._tokens.members())

    @overload
    def __getitem__(self, index: int) -> Executor: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Executor]: ...

    def __getitem__(self, index: int | slice) -> Executor | Sequence[Executor]:
        return list(self)[index]

    def __iter__(self) -> Iterator[Executor]:
        for member in self._tokens.members():
            yield WorkerExecutor(
                member, int(self.takes_parts(member)), self._default_model, any_model=self._any_model
            )

    def takes_parts(self, member: Member) -> bool:
        """Tell whether a worker is there to take parts, or to end those that it has."""
        working = self.working(member.id)
        return working or (member.may_work and self._tokens.there(member.id))
