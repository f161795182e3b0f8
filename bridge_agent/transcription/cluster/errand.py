"""The one function that is sent to a cluster, as itself: the scheduler needs nothing of this program."""


def run(errand: bytes, flac: bytes) -> bytes:
    """Do an errand in a Dask worker; raises ImportError where this program is not installed there."""
    from importlib import import_module

    answer: bytes = import_module("bridge_agent.transcription.cluster.there").run(errand, flac)
    return answer
