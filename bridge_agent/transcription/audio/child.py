"""A decoder child's main: `python -m bridge_agent.transcription.audio.child`, started by process.py alone."""

import faulthandler
import os
import threading
from pathlib import Path
from typing import BinaryIO

from bridge_agent.base import manners
from bridge_agent.base.parent import Inlet, Outlet
from bridge_agent.transcription.audio import messages
from bridge_agent.transcription.audio.errors import AudioError, DecoderUnavailable, Stopped
from bridge_agent.transcription.audio.source import asking


class Requests(Inlet[messages.Request]):
    """What the Bridge asks; that it takes one more part is seen while the decoder works."""

    def __init__(self, pipe: BinaryIO) -> None:
        super().__init__(pipe, messages.requests)
        self.wanted = threading.Semaphore(0)

    def at_once(self, request: messages.Request) -> bool:
        """Let the running cut go on by a part."""
        if not isinstance(request, messages.More):
            return False
        self.wanted.release()
        return True


class Work:
    """Does what the requests ask, one after the other."""

    def __init__(self, inlet: Requests, outlet: Outlet) -> None:
        self._inlet = inlet
        self._outlet = outlet
        self._stop = threading.Event()
        self.samples = 0

    def answer(self, request: messages.Request) -> messages.Reply:
        """Do one request; whatever breaks becomes an Error."""
        self.samples = 0
        try:
            return self._do(request)
        except AudioError as error:
            return messages.Error(code=error.code, sentence=error.message)
        except Stopped:
            return messages.Error(code="stopped", sentence="It was stopped.")
        except MemoryError:
            return messages.Error(
                code="decoder_died", sentence="The audio decoder ran out of memory; try again."
            )
        except Exception as error:
            said = f"The audio decoder failed ({type(error).__name__}: {error}); look at the log."
            return messages.Error(code="audio_failed", sentence=said)

    def pulse(self) -> messages.Pulse:
        """Return how far the work is."""
        done = self.samples + asking.bytes_read
        return messages.Pulse(samples=self.samples, work=done, waiting=asking.waiting)

    def _do(self, request: messages.Request) -> messages.Reply:
        # What these import loads the decoder; the process itself starts without it.
        from bridge_agent.transcription.audio import flac, survey

        match request:
            case messages.Survey():
                path = _path(request.path)
                found = survey.survey_file(path, request.name, self._reached, self._stop)
                return messages.Surveyed(found=found)
            case messages.Pcm():
                return messages.Samples(pcm=flac.read_pcm(_path(request.path)))
            case messages.Cut():
                self._cut(request)
                return messages.Ended()
            case messages.More():
                return messages.Error(code="audio_failed", sentence="Nothing is being cut.")

    def _cut(self, request: messages.Cut) -> None:
        from bridge_agent.transcription.audio import cutter

        targets = dict(zip(request.parts, map(_path, request.targets), strict=True))
        self._inlet.wanted = threading.Semaphore(request.ahead)
        cutting = cutter.cut(_path(request.path), request.parts, targets.__getitem__, self._stop)
        for index in range(len(request.parts)):
            self._inlet.wanted.acquire()
            part, cut = next(cutting)
            self._reached(part.end)
            self._outlet.send(
                messages.CutPart(
                    index=index if request.parts[index] == part else request.parts.index(part),
                    sha256=cut.sha256,
                    size=cut.size,
                    samples=cut.samples,
                )
            )

    def _reached(self, samples: int) -> None:
        self.samples = samples


def _path(raw: bytes) -> Path:
    return Path(os.fsdecode(raw))


def main() -> None:
    """Serve requests until the Bridge closes the pipe."""
    incoming, outgoing = manners.own_pipes()
    faulthandler.enable()
    manners.step_back()
    outlet, inlet = Outlet(outgoing), Requests(incoming)
    inlet.start()
    try:
        from bridge_agent.transcription.audio import decode
    except ImportError:
        error = DecoderUnavailable()
        outlet.send(messages.Error(code=error.code, sentence=error.message))
        manners.vanish(1)
        return
    work = Work(inlet, outlet)
    outlet.send(messages.Ready(decoder=decode.DECODER))
    outlet.pulse(work.pulse)
    while True:
        outlet.send(work.answer(inlet.next()))


if __name__ == "__main__":
    main()
