"""A child process that does what it is told: `python -m tests.fakes.odd_child`, for tests of its parent."""

import os

import msgspec

from bridge_agent.base import manners
from bridge_agent.base.parent import Inlet, Outlet


class Say(msgspec.Struct, tag=True):
    """Write bytes into the pipe (0), standard output (1) or error (2), then answer, or end."""

    into: int
    raw: bytes = b""
    end_with: int | None = None


class Hurry(msgspec.Struct, tag=True):
    """What the child sees at once."""


class Said(msgspec.Struct, tag=True):
    """The answer to each Say."""

    hurries: int


requests: msgspec.msgpack.Decoder[Say | Hurry] = msgspec.msgpack.Decoder(Say | Hurry)
replies: msgspec.msgpack.Decoder[Said] = msgspec.msgpack.Decoder(Said)


class Requests(Inlet[Say | Hurry]):
    """Counts what is in a hurry."""

    hurries = 0

    def at_once(self, request: Say | Hurry) -> bool:
        """Count a Hurry."""
        self.hurries += isinstance(request, Hurry)
        return isinstance(request, Hurry)


def main() -> None:
    """Do as told until the parent is gone."""
    incoming, outgoing = manners.own_pipes()
    inlet, outlet = Requests(incoming, requests), Outlet(outgoing)
    inlet.start()
    while True:
        request = inlet.next()
        assert isinstance(request, Say)
        os.write(outgoing.fileno() if request.into == 0 else request.into, request.raw)
        if request.end_with is not None:
            manners.vanish(request.end_with)
        outlet.send(Said(inlet.hurries))


if __name__ == "__main__":
    main()
