"""Tags of audio files: read with mutagen, in one shape whatever the format; a broken file never raises."""

import hashlib
import logging
import os
from typing import Any

from bridge_agent.home.library import marks, tag_names
from bridge_agent.home.library.facts import Mark, Tags
from bridge_agent.home.library.kinds import extension_of

_log = logging.getLogger(__name__)

EMPTY = "The file is empty."
UNREADABLE = "The file can't be opened."
BROKEN = "The file's header can't be read; it may be damaged."

# Formats whose headers nothing here reads: their files count as whole, with no duration.
_UNTOLD = frozenset({".mka", ".webm", ".webma", ".caf", ".awb", ".mpg", ".mpeg", ".wma"})
_SAMPLE = 16 << 10
_LONGEST_S = 1e7
_TEXT = 1024
_LONG_TEXT = 8192


def read_tags(path: str) -> Tags:
    """Read a file's tags, duration and chapters; what can't be read is told in `broken`, never raised."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a byte-exact text path, opened a hundred thousand times
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return Tags(broken=EMPTY)
            file.seek(size // 2)
            sound = hashlib.blake2b(file.read(_SAMPLE), digest_size=8).hexdigest()
    except (OSError, ValueError) as error:
        _log.debug("%s can't be opened: %s", path, error)
        return Tags(broken=UNREADABLE)
    try:
        return _read(path, sound)
    except Exception as error:
        # A damaged header makes its parser raise anything; a scan goes on.
        _log.debug("%s can't be read: %s: %s", path, type(error).__name__, error)
        return Tags(broken=BROKEN, sound=sound)


def _read(path: str, sound: str) -> Tags:
    import mutagen

    media: Any = mutagen.File(path)
    if media is None or media.info is None:
        return Tags(broken="" if extension_of(path) in _UNTOLD else BROKEN, sound=sound)
    length = getattr(media.info, "length", None)
    named = tag_names.by_name(media.tags)
    track, tracks = _pair(named.get("track", ""), named.get("tracks", ""))
    disc, _ = _pair(named.get("disc", ""), "")
    texts = {name: _text(named.get(name, ""), _TEXT) for name in _PLAIN}
    return Tags(
        duration=round(float(length), 3) if length and 0 < length < _LONGEST_S else None,
        track=track,
        tracks=tracks,
        disc=disc,
        description=_text(named.get("description", ""), _LONG_TEXT, lines=True),
        marks=_marks(media, path),
        art=has_art(media),
        sound=sound,
        **texts,
    )


def _marks(media: Any, path: str) -> tuple[Mark, ...]:  # noqa: ANN401 - mutagen has no types
    try:
        return marks.read_marks(media, path)
    except Exception as error:
        # Damaged chapters are no reason to do without the tags and the length.
        _log.debug("The chapters of %s can't be read: %s", path, error)
        return ()


_PLAIN = (
    "title", "album", "artist", "album_artist", "composer", "narrator", "date", "genre", "language", "series",
    "series_part", "grouping", "asin", "subtitle",
)  # fmt: skip


def has_art(media: Any) -> bool:  # noqa: ANN401 - mutagen has no types
    """Tell whether an opened file carries a picture."""
    tags = media.tags
    if getattr(media, "pictures", None):
        return True
    if tags is None:
        return False
    names = list(tags.keys())
    return any(
        name == "covr" or name.startswith("APIC") or name == "metadata_block_picture" for name in names
    )


def read_art(path: str) -> bytes | None:
    """Return the first picture that a file carries, or None; nothing is raised."""
    import mutagen

    try:
        media: Any = mutagen.File(path)
        return None if media is None else _art(media)
    except Exception as error:
        _log.debug("The picture in %s can't be read: %s", path, error)
        return None


def _art(media: Any) -> bytes | None:  # noqa: ANN401 - mutagen has no types
    if pictures := getattr(media, "pictures", None):
        return bytes(pictures[0].data)
    tags = media.tags or {}
    if covers := tags.get("covr"):
        return bytes(covers[0])
    for name in list(tags.keys()):
        if name.startswith("APIC"):
            return bytes(tags[name].data)
    if blocks := tags.get("metadata_block_picture"):
        import base64

        from mutagen.flac import Picture

        picture: Any = Picture
        return bytes(picture(base64.b64decode(blocks[0])).data)
    return None


def _pair(text: str, total: str) -> tuple[int | None, int | None]:
    """Read `3` or `3/12`; zero and nonsense count as nothing."""
    number, _, of = text.partition("/")
    return _number(number), _number(of or total)


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) or None if text.isascii() and text.isdigit() and len(text) < 6 else None


def _text(text: str, most: int, *, lines: bool = False) -> str:
    """Return a text from outside without control characters and half characters, cut to a length."""
    kept = "".join(c if c.isprintable() or (lines and c == "\n") else " " for c in text[: 2 * most])
    tidy = kept.strip() if lines else " ".join(kept.split())
    return tidy.encode("utf-8", "ignore").decode()[:most]
