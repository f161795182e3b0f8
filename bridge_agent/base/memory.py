"""Memory that a start or a big piece of work used, given back to the system."""

import ctypes
import gc
import sys


def give_back() -> None:
    """Return free memory to the system; on anything but glibc there is nothing to be done.

    Python frees its objects, but glibc keeps the pages for later; a Bridge that rests for days needs them
    less than its neighbours on a small machine.
    """
    gc.collect()
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
