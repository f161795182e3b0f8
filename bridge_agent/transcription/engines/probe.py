"""What this machine can compute with, found out in throw-away children: a GPU's libraries may abort."""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from bridge_agent.base import files
from bridge_agent.transcription.engines.base import Fit, Machine, Setup
from bridge_agent.transcription.engines.errors import EngineDied, EngineError, EngineHung
from bridge_agent.transcription.engines.host import Child
from bridge_agent.transcription.engines.ladder import first_batch
from bridge_agent.transcription.model import EngineInfo, Value

_MOST_KEPT = 20

_log = logging.getLogger(__name__)


class Probed(Value, frozen=True):
    """What works here: the fit, the engine with it, and in sentences what did not work."""

    fit: Fit
    info: EngineInfo
    notes: tuple[str, ...] = ()


class Prober:
    """Finds the fit for a model once, and remembers it by libraries, driver, wishes and model."""

    def __init__(self, start: Callable[[], Awaitable[Child]], file: Path | None) -> None:
        self._start = start
        self._file = file

    async def probe(self, setup: Setup, device: str, compute_type: str) -> Probed:
        """Return what works for a setup; raises EngineError when nothing does.

        `device` and `compute_type` are wishes and may be `auto`: one that can't be had is noted, and the
        nearest is taken.
        """
        machine, note = await self._survey(setup.engine, device)
        key = _key(setup, machine, device, compute_type)
        if (known := self._remembered().get(key)) is not None:
            return known
        probed = await self._try(setup, machine, device, compute_type)
        if note is not None:
            probed = msgspec.structs.replace(probed, notes=(note, *probed.notes))
        else:
            self._remember(key, probed)
        return probed

    async def _survey(self, engine: str, device: str) -> tuple[Machine, str | None]:
        child = await self._start()
        try:
            return await child.survey(engine), None
        except (EngineDied, EngineHung) as error:
            # Counting devices may abort already, where a driver is broken.
            if device == "cpu":
                raise
            return Machine(version="unknown"), f"The GPU could not be looked for: {error.message}"
        finally:
            await child.end()

    async def _try(self, setup: Setup, machine: Machine, device: str, compute_type: str) -> Probed:
        notes: list[str] = []
        if device != "cpu" and machine.gpus:
            try:
                return await self._load(setup, "cuda", compute_type)
            except EngineError as error:
                notes.append(f"The GPU is not used: {error.message}")
                _log.warning("%s", notes[-1])
        elif device == "cuda":
            notes.append(
                "BRIDGE_SPEECH_DEVICE asks for a GPU, but there is none here; the processor is used."
            )
        probed = await self._load(setup, "cpu", compute_type)
        return msgspec.structs.replace(probed, notes=(*notes, *probed.notes))

    async def _load(self, setup: Setup, device: str, compute_type: str) -> Probed:
        asked = Fit(device=device, compute_type=compute_type, batch=first_batch(device))
        child = await self._start()
        try:
            info = await child.load(msgspec.structs.replace(setup, fit=asked, prove=True))
        finally:
            await child.end()
        notes: tuple[str, ...] = ()
        if compute_type not in ("auto", info.compute_type):
            notes = (f"This machine can't compute in {compute_type}; {info.compute_type} is used.",)
        fit = msgspec.structs.replace(asked, compute_type=info.compute_type)
        return Probed(fit=fit, info=info, notes=notes)

    def _remembered(self) -> dict[str, Probed]:
        if self._file is None:
            return {}
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, Probed])
        except (OSError, msgspec.DecodeError):
            return {}

    def _remember(self, key: str, probed: Probed) -> None:
        if self._file is None:
            return
        kept = list(self._remembered().items())[-(_MOST_KEPT - 1) :]
        try:
            files.write_private(self._file, msgspec.json.encode(dict([*kept, (key, probed)])))
        except OSError as error:
            _log.warning("What the speech engine can use is not remembered: %s", error)


def _key(setup: Setup, machine: Machine, device: str, compute_type: str) -> str:
    wished = (setup.engine, setup.model, setup.place, device, compute_type)
    there = (machine.version, machine.driver, machine.gpus, sorted(machine.compute_types.items()))
    return hashlib.sha256(json.dumps([wished, there]).encode()).hexdigest()[:32]
