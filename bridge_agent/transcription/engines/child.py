"""An engine child's main: `python -m bridge_agent.transcription.engines.child`, started by host.py alone."""

import faulthandler
import importlib
from collections.abc import Callable
from typing import BinaryIO, cast

import psutil

from bridge_agent.base import manners
from bridge_agent.base.parent import Inlet, Outlet
from bridge_agent.transcription.engines import protocol
from bridge_agent.transcription.engines.base import ENGINES, Away, Engine, Machine, Refused, Setup, Stopped


class Requests(Inlet[protocol.Request]):
    """What the Bridge asks; a cancel is seen while the engine is busy."""

    def __init__(self, pipe: BinaryIO) -> None:
        super().__init__(pipe, protocol.requests)
        self._cancelled: set[int] = set()

    def at_once(self, request: protocol.Request) -> bool:
        """Note a cancel."""
        if not isinstance(request, protocol.Cancel):
            return False
        self._cancelled.add(request.id)
        return True

    def cancelled(self, request_id: int) -> bool:
        """Tell whether nobody wants this request's answer any more."""
        return request_id in self._cancelled


class _Hearing:
    """What the engine tells and asks while it hears one part."""

    def __init__(self, request_id: int, inlet: Requests, outlet: Outlet) -> None:
        self._id = request_id
        self._inlet = inlet
        self._outlet = outlet

    def heard(self, text: str) -> None:
        self._outlet.send(protocol.Words(id=self._id, text=text))

    def stopped(self) -> bool:
        return self._inlet.cancelled(self._id)


class Worker:
    """Does what the requests ask, one after the other, on the main thread."""

    def __init__(self, inlet: Requests, outlet: Outlet) -> None:
        self._inlet = inlet
        self._outlet = outlet
        self._engine: Engine | None = None

    def answer(self, request: protocol.Request) -> protocol.Reply:
        """Do one request; whatever breaks becomes an Error."""
        request_id = getattr(request, "id", None)
        try:
            return self._do(request)
        except Refused as error:
            return protocol.Error(id=request_id, kind="refused", sentence=str(error))
        except Away as error:
            return protocol.Error(id=request_id, kind="away", sentence=str(error))
        except Stopped:
            return protocol.Error(id=request_id, kind="stopped", sentence="It was cancelled.")
        except MemoryError:
            return protocol.Error(id=request_id, kind="memory", sentence="There is not enough memory.")
        except Exception as error:
            kind = "memory" if "out of memory" in str(error).lower() else "failed"
            return protocol.Error(id=request_id, kind=kind, sentence=f"{type(error).__name__}: {error}")

    def _do(self, request: protocol.Request) -> protocol.Reply:
        match request:
            case protocol.Survey():
                return protocol.Found(machine=machine(request.engine))
            case protocol.Load():
                self._engine = None
                self._engine = load(request.setup)
                return protocol.Ready(info=self._loaded().info())
            case protocol.Info():
                return protocol.Ready(info=self._loaded().info())
            case protocol.Transcribe():
                hearing = _Hearing(request.id, self._inlet, self._outlet)
                heard = self._loaded().transcribe(request.pcm, request.context, hearing)
                return protocol.Result(id=request.id, heard=heard)
            case protocol.DetectLanguage():
                found = self._loaded().detect_language(request.pcm)
                return protocol.Languages(id=request.id, probabilities=found)
            case protocol.Cancel():
                raise Refused("A cancel is no request of its own.")

    def _loaded(self) -> Engine:
        if self._engine is None:
            raise Refused("No engine is loaded; send Load first.")
        return self._engine


def load(setup: Setup) -> Engine:
    """Import an engine's module and load it; raises Refused for a name that no engine has."""
    return cast(Engine, _module(setup.engine).load(setup))


def machine(engine: str) -> Machine:
    """Return what an engine's libraries find here; raises Refused, and Away where they are not installed."""
    return cast(Machine, _module(engine).machine())


def _module(engine: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a module has no narrower type
    if engine not in ENGINES:
        raise Refused(f"No engine is named “{engine}”; there are {', '.join(ENGINES)}.")
    return importlib.import_module(ENGINES[engine])


def _pulse() -> Callable[[], protocol.Pulse]:
    process = psutil.Process()

    def sign() -> protocol.Pulse:
        manners.alive()
        times = process.cpu_times()
        return protocol.Pulse(cpu_seconds=times.user + times.system, resident=process.memory_info().rss)

    return sign


def main() -> None:
    """Serve requests until the parent closes the pipe."""
    incoming, outgoing = manners.own_pipes()
    faulthandler.enable()
    manners.step_back()
    outlet, inlet = Outlet(outgoing), Requests(incoming)
    outlet.pulse(_pulse())
    inlet.start()
    worker = Worker(inlet, outlet)
    while True:
        outlet.send(worker.answer(inlet.next()))


if __name__ == "__main__":
    main()
