"""What is wrong with an audio file, in a sentence with its name that ends with what to do."""

from pathlib import Path, PurePath
from typing import BinaryIO

from bridge_agent.transcription.audio import boxes
from bridge_agent.transcription.model import RATE, Value

_HEAD = 4096
_TEXT_SHARE = 0.97


class Problem(Value, frozen=True):
    """A problem as in `FileSurvey`: its code and its sentence."""

    code: str
    sentence: str


def look(path: Path, name: str) -> Problem | None:
    """Look at a file before anything is decoded; None where it may well be audio. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if not head:
            return empty(name)
        if head[4:8] == b"\x57\x90\x75\x36":
            return protected(name, "Audible")
        found = boxes.look(file)
        if found.seller:
            return protected(name, found.seller)
        if found.is_mp4:
            return no_index(name) if not found.has_index else None
        return _no_audio_at_all(file, head, name)


def _no_audio_at_all(file: BinaryIO, head: bytes, name: str) -> Problem | None:
    if not head.strip(b"\0"):
        file.seek(0)
        return zeros(name) if _only_zeros(file) else None
    return text(name) if _is_text(head) else None


def _only_zeros(file: BinaryIO) -> bool:
    while block := file.read(1 << 20):
        if block.strip(b"\0"):
            return False
    return True


def _is_text(head: bytes) -> bool:
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # Where the look ends in the middle of a character is no fault of the text.
        if error.start < len(head) - 4:
            return head.startswith((b"\xff\xfe", b"\xfe\xff"))
    printable = sum(1 for byte in head if byte >= 32 or byte in b"\t\r\n")
    return printable >= _TEXT_SHARE * len(head)


def protected(name: str, seller: str) -> Problem:
    """DRM."""
    by = seller if seller[0].isupper() else "its seller"
    return _problem("drm", name, f"is protected against copying by {by}; use a copy that plays in any player")


def empty(name: str) -> Problem:
    """No bytes at all."""
    return _problem("unreadable", name, "is empty; copy or download it again")


def zeros(name: str) -> Problem:
    """Nothing but zero bytes."""
    return _problem(
        "unreadable", name, "holds nothing but zeros, as a download that never ended; copy it again"
    )


def text(name: str) -> Problem:
    """A text or a web page under an audio file's name."""
    return _problem("unreadable", name, "holds text and no audio; put the audio file in its place")


def no_index(name: str) -> Problem:
    """An MP4 that was cut off before its index, so that nothing of it can be found."""
    return _problem(
        "truncated", name, "breaks off before its index, so none of it can be read; copy it again"
    )


def no_audio(name: str) -> Problem:
    """A video or picture without a sound track."""
    return _problem("unreadable", name, "has no audio track; take it out of the book's folder or replace it")


def no_codec(name: str, codec: str) -> Problem:
    """A kind of audio that this decoder does not know."""
    return _problem(
        "unreadable", name, f"holds a kind of audio unknown here ({codec}); convert it to m4b or mp3"
    )


def undecodable(name: str) -> Problem:
    """Neither text nor zeros nor audio."""
    return _problem(
        "unreadable", name, "can't be decoded; check that it plays, then copy it again or convert it to m4b"
    )


def crashed(name: str) -> Problem:
    """A file on which native code gave up."""
    return _problem("unreadable", name, "makes the audio decoder crash; copy it again or convert it to m4b")


def hung(name: str) -> Problem:
    """A file on which the decoder never came to an end."""
    return _problem(
        "unreadable", name, "keeps the audio decoder busy without end; copy it again or convert it to m4b"
    )


def cut_off(name: str, samples: int, missing: float) -> Problem:
    """Less audio than the file promises, because its end is missing; `missing` in seconds."""
    whole = f" of {clock(samples / RATE + missing)}" if missing >= 1 else ""
    return _problem(
        "truncated", name, f"breaks off after {clock(samples / RATE)}{whole}; copy it again to get the rest"
    )


def damaged(name: str, places: int, seconds: float) -> Problem:
    """Stretches inside the file could not be decoded."""
    where = "one place" if places == 1 else f"{places} places"
    lost = f" (about {clock(seconds)} is missing)" if seconds >= 1 else ""
    return _problem(
        "damaged", name, f"is damaged in {where}{lost}; the rest is used, copy it again to get all"
    )


def silent(name: str) -> Problem:
    """Nothing to hear from start to end."""
    return _problem("silent", name, "is silent from start to end; check that it is the right file")


def clock(seconds: float) -> str:
    """Return a length as people write it: `7 s`, `2:30`, `1:02:30`."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if whole < 60:
        return f"{whole} s"
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _problem(code: str, name: str, what: str) -> Problem:
    shown = "".join(c if c.isprintable() else "�" for c in PurePath(name).name)
    return Problem(code=code, sentence=f"“{shown}” {what}.")
