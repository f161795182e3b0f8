"""A decoder child's main: `python -m bridge_agent.transcription.audio.child`, started by process.py alone."""

import faulthandler
import os
import queue
import threading
from pathlib import Path
from typing import BinaryIO

from bridge_agent.base import frames
from bridge_agent.transcription.audio import messages
from bridge_agent.transcription.audio.errors import AudioError, DecoderUnavailable, Stopped
from bridge_agent.transcription.audio.source import asking
from bridge_agent.transcription.engines import quiet

PULSE_SECONDS = 0.5


class Outlet:
    """The way back to the Bridge; one that is gone ends the child."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, message: messages.Reply) -> None:
        """Write one message whole."""
        try:
            with self._lock:
                self._pipe.write(frames.pack(message))
                self._pipe.flush()
        except OSError:
            quiet.vanish(0)


class Inlet(threading.Thread):
    """Reads requests while the decoder works, so that the Bridge's end is seen at once."""

    def __init__(self, pipe: BinaryIO) -> None:
        super().__init__(name="requests", daemon=True)
        self._pipe = pipe
        self._requests: queue.SimpleQueue[messages.Request] = queue.SimpleQueue()
        self.wanted = threading.Semaphore(0)

    def run(self) -> None:
        """Read until the pipe ends, then end the process."""
        while (request := frames.read(self._pipe, messages.requests)) is not None:
            if isinstance(request, messages.More):
                self.wanted.release()
            else:
                self._requests.put(request)
        quiet.vanish(0)

    def next(self) -> messages.Request:
        """Wait for a request."""
        return self._requests.get()


class Work:
    """Does what the requests ask, one after the other."""

    def __init__(self, inlet: Inlet, outlet: Outlet) -> None:
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


def _pulse(outlet: Outlet, work: Work) -> None:
    pause = threading.Event()
    while True:
        done = work.samples + asking.bytes_read
        outlet.send(messages.Pulse(samples=work.samples, work=done, waiting=asking.waiting))
        pause.wait(PULSE_SECONDS)


def main() -> None:
    """Serve requests until the Bridge closes the pipe."""
    incoming, outgoing = quiet.own_pipes()
    faulthandler.enable()
    quiet.step_back()
    outlet, inlet = Outlet(outgoing), Inlet(incoming)
    inlet.start()
    try:
        from bridge_agent.transcription.audio import decode
    except ImportError:
        error = DecoderUnavailable()
        outlet.send(messages.Error(code=error.code, sentence=error.message))
        quiet.vanish(1)
        return
    work = Work(inlet, outlet)
    outlet.send(messages.Ready(decoder=decode.DECODER))
    threading.Thread(target=_pulse, args=(outlet, work), name="pulse", daemon=True).start()
    while True:
        outlet.send(work.answer(inlet.next()))


if __name__ == "__main__":
    main()
