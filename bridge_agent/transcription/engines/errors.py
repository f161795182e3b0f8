"""What can go wrong with an engine, as its callers and people see it."""

from bridge_agent.base.errors import BridgeError

PACKAGE = "audiobook-bridge-agent[speech]"
INSTALL = f"pip install '{PACKAGE}'"
"""The command that gives a machine its engine, and its audio decoder."""


def not_installed(lacking: str = "") -> str:
    """Say that the engine is not installed here, with the command; `lacking` is what loading it fell on."""
    what = f" ({lacking})" if lacking else ""
    return (
        f"The speech engine is not installed here{what}; install it with {INSTALL}, "
        "or set BRIDGE_SPEECH_SERVER."
    )


class EngineError(BridgeError):
    """The speech engine failed; look at the log for what it said."""

    code = "engine_failed"


class EngineUnavailable(EngineError):
    """There is no speech engine on this machine that answers; look at the log for why."""

    code = "engine_unavailable"


class EngineRefused(EngineError):
    """The speech engine can't do what was asked; change the job's settings."""

    code = "engine_refused"


class EngineDied(EngineError):
    """The speech engine's process ended in the middle of its work; try again, or choose a smaller model."""

    code = "engine_died"


class OutOfMemory(EngineDied):
    """The speech engine ran out of memory: choose a smaller model."""

    code = "out_of_memory"


class EngineHung(EngineError):
    """The speech engine gave no sign of life and was ended; try again, or choose a smaller model."""

    code = "engine_hung"
