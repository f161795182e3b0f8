"""What a page says after something was done: fixed sentences by code, so that no link can put words here."""

from dataclasses import dataclass

from bridge_agent.home.console.words import Tone


@dataclass(frozen=True)
class Said:
    """One sentence with its mark."""

    sentence: str
    tone: Tone = "ok"
    mark: str = "✓"


_SAID = {
    "signed-out": Said("You are signed out."),
    "session-over": Said(
        "Your sign-in had ended, so nothing was changed; sign in, then do it again.", "warn", "!"
    ),
    "library-added": Said("The library is added. Its first scan has begun; books appear as they are found."),
    "library-removed": Said("The library is removed, and its jobs with it. Its files are untouched."),
    "scan-asked": Said("The scan has begun; this page follows it."),
    "queued": Said("The job was queued; this page follows it."),
    "open": Said("This is already asked for; here is the job that does it."),
    "stopping": Said(
        "The same job is still stopping, so no new one was queued; press again once it has stopped.",
        "warn",
        "!",
    ),
    "cancelled": Said("The job is cancelled."),
    "cancel-asked": Said("This job was asked to stop; the Bridge hears of it at its next report."),
    "finished": Said("The job had already ended, so there was nothing to cancel.", "warn", "!"),
    "again": Said("The job was queued anew; it uses what the last one had finished."),
    "no_bridge": Said(
        "No Bridge is paired yet, so nobody can do this; pair one under Settings, Bridge.", "warn", "!"
    ),
    "not_heard": Said(
        "The paired Bridge has not called in yet, so what it can do is not known; try again in a moment.",
        "warn",
        "!",
    ),
    "kind_unavailable": Said(
        "The paired Bridge does not do this kind of job; pair one that does, or update it.", "bad", "✕"
    ),
    "no_book": Said("There is no whole book here to verify yet; scan the library first.", "bad", "✕"),
    "not_found": Said(
        "That book is not in the library any more; scan the library and look again.", "bad", "✕"
    ),
    "invalid_params": Said(
        "The job’s parameters are not taken any more; begin it from the book’s page.", "bad", "✕"
    ),
    "unpaired": Said("The Bridge is unpaired. Its jobs stay, and wait for the next one."),
    "person-added": Said("The account is made; tell its owner the password."),
    "person-changed": Said("The account is changed."),
    "password-set": Said("The new password is set, and every sign-in of this account has ended."),
    "own-password-set": Said("Your new password is set; your other sign-ins have ended, this one stays."),
    "key-removed": Said("The key is removed; what used it is refused from now on."),
    "others-out": Said("All other sign-ins of yours have ended; this one stays."),
    "shown-once": Said(
        "What was shown once can’t be shown again; make a new one if you need it.", "warn", "!"
    ),
}


def said(code: str) -> Said | None:
    """Return the sentence of a code; None for one that is not known."""
    return _SAID.get(code)


def said_sentence(code: str) -> str:
    """Return the bare sentence of a known code; raises KeyError."""
    return _SAID[code].sentence
