"""The ladder: what a part is tried with, one after the other, when its engine dies."""

import msgspec

from bridge_agent.transcription.engines.base import Fit


def rungs(asked: Fit, *, adjustable: bool = True) -> list[Fit]:
    """Return the fits to try: as asked twice, then smaller batches, int8, and the processor instead of a GPU.

    An engine that is not `adjustable` computes elsewhere: only the same again is tried.
    """
    fits = [asked, asked]
    if not adjustable:
        return fits
    fit = asked
    while fit.batch > 1:
        fit = msgspec.structs.replace(fit, batch=max(1, fit.batch // 4))
        fits.append(fit)
    if not fit.compute_type.startswith("int8"):
        fit = msgspec.structs.replace(fit, compute_type="int8")
        fits.append(fit)
    if fit.device != "cpu":
        fits.append(Fit(device="cpu", compute_type="int8", batch=1))
    return fits


def first_batch(device: str) -> int:
    """Return how many windows at a time are worth it: more than four gain nothing on a processor."""
    return 8 if device == "cuda" else 4
