"""Names of tags: ID3 frames, MP4 atoms, Vorbis comments and ASF attributes under one set of names."""

from collections.abc import Iterable
from typing import Any

_ITUNES = "----:com.apple.iTunes:"

# In each list the first tag that says something wins.
_ID3 = {
    "title": ["TIT2"],
    "album": ["TALB"],
    "artist": ["TPE1"],
    "album_artist": ["TPE2"],
    "composer": ["TCOM"],
    "narrator": ["TXXX:NARRATOR", "TXXX:NARRATEDBY"],
    "date": ["TDRC", "TYER", "TDRL", "TDOR"],
    "genre": ["TCON"],
    "description": ["TXXX:DESCRIPTION", "TDES"],
    "language": ["TLAN", "TXXX:LANGUAGE"],
    "series": ["TXXX:SERIES", "TXXX:SHOW", "TXXX:MVNM", "MVNM"],
    "series_part": ["TXXX:SERIES-PART", "TXXX:EPISODE_ID", "TXXX:MVIN", "MVIN", "TXXX:PART"],
    "grouping": ["GRP1", "TIT1"],
    "asin": ["TXXX:ASIN", "TXXX:AUDIBLE_ASIN"],
    "subtitle": ["TIT3", "TXXX:SUBTITLE"],
    "track": ["TRCK"],
    "disc": ["TPOS"],
}
_MP4 = {
    "title": ["©nam"],
    "album": ["©alb"],
    "artist": ["©ART"],
    "album_artist": ["aART"],
    "composer": ["©wrt"],
    "narrator": ["©nrt", _ITUNES + "NARRATOR"],
    "date": ["©day"],
    "genre": ["©gen"],
    "description": ["ldes", "desc", "©des"],
    "language": [_ITUNES + "LANGUAGE"],
    "series": [_ITUNES + "SERIES", "©mvn", "tvsh"],
    "series_part": [_ITUNES + "SERIES-PART", _ITUNES + "PART", "©mvi", "tven"],
    "grouping": ["©grp"],
    "asin": [_ITUNES + "ASIN", _ITUNES + "AUDIBLE_ASIN", "CDEK"],
    "subtitle": [_ITUNES + "SUBTITLE"],
    "track": ["trkn"],
    "disc": ["disk"],
}
_COMMENTS = {
    "title": ["title", "wm/title"],
    "album": ["album", "wm/albumtitle"],
    "artist": ["artist", "author"],
    "album_artist": ["albumartist", "album_artist", "album artist", "wm/albumartist"],
    "composer": ["composer", "wm/composer"],
    "narrator": ["narrator", "narratedby"],
    "date": ["date", "year", "wm/year"],
    "genre": ["genre", "wm/genre"],
    "description": ["description", "synopsis"],
    "language": ["language", "wm/language"],
    "series": ["series", "show", "mvnm"],
    "series_part": ["series-part", "series_part", "episode_id", "mvin", "part"],
    "grouping": ["grouping", "wm/contentgroupdescription"],
    "asin": ["asin", "audible_asin"],
    "subtitle": ["subtitle", "wm/subtitle"],
    "track": ["tracknumber", "track", "wm/tracknumber"],
    "tracks": ["tracktotal", "totaltracks"],
    "disc": ["discnumber", "disc", "wm/partofset"],
}


def by_name(tags: Any) -> dict[str, str]:  # noqa: ANN401 - mutagen has no types
    """Return what a file's tags say, as texts under our own names; `tags` is mutagen's, or None."""
    if tags is None:
        return {}
    raw = _texts(tags)
    names = {key.lower(): text for key, text in raw.items()}
    found: dict[str, str] = {}
    for table in (_ID3, _MP4, _COMMENTS):
        for name, keys in table.items():
            if name not in found and (text := _first(names, keys)):
                found[name] = text
    return found


def _first(names: dict[str, str], keys: Iterable[str]) -> str:
    return next((names[key.lower()] for key in keys if names.get(key.lower())), "")


def _texts(tags: Any) -> dict[str, str]:  # noqa: ANN401
    texts = {}
    for key in list(tags.keys()):
        if not isinstance(key, str) or key.startswith(
            ("APIC", "covr", "metadata_block", "CHAP", "PRIV", "GEOB")
        ):
            continue
        text = _text(tags[key])
        if text:
            texts[key] = text
    return texts


def _text(value: Any) -> str:  # noqa: ANN401
    """Return a tag's value as text, several joined by `; `, a pair of numbers as `3/12`."""
    if hasattr(value, "text"):
        value = value.text
    if isinstance(value, (list, tuple)):
        if len(value) == 2 and all(isinstance(part, int) for part in value):
            return f"{value[0]}/{value[1]}"
        return "; ".join(filter(None, (_text(part) for part in value)))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value).replace("\0", "; ").strip("; ")
