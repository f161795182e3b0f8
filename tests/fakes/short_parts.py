"""Plans whose parts are short, so that little audio has many."""

import contextlib
from collections.abc import Iterator
from unittest.mock import patch

from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.planning import cuts


@contextlib.contextmanager
def short_parts(target: float, *, window: float, most: float, least: float, overlap: float) -> Iterator[None]:
    """Cut by these lengths, all in seconds, in place of those of real books."""
    lengths = {"TARGET": target, "WINDOW": window, "MOST": most, "LEAST": least, "OVERLAP": overlap}
    with contextlib.ExitStack() as patched:
        for name, seconds in lengths.items():
            patched.enter_context(patch.object(cuts, name, int(seconds * RATE)))
        yield
