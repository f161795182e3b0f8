"""Sidecars: files beside the audio that describe the book (OPF, desc.txt, reader.txt, metadata.json, cue)."""

import json
import logging
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bridge_agent.home.library.cue import read_cue
from bridge_agent.home.library.facts import Mark, Sidecar
from bridge_agent.home.library.kinds import extension_of
from bridge_agent.home.library.people import split_people
from bridge_agent.home.library.text import nfc

_log = logging.getLogger(__name__)

_MOST_BYTES = 1 << 20
_LINE = 500
_LONG = 8192
_DC = "{http://purl.org/dc/elements/1.1/}"
_OPF = "{http://www.idpf.org/2007/opf}"
_SERIES = re.compile(r"(?P<name>.+?)\s+#(?P<number>\S+)\s*\Z")
_YEAR = re.compile(r"\d{4}")
_ELEMENT = re.compile(r"<[^<>]{1,200}>")


def read_sidecar(path: str) -> Sidecar:
    """Read a sidecar by its name; a broken one says nothing, and nothing is raised."""
    name = path.rpartition("/")[2].lower()
    try:
        raw = _read(path)
        if name == "desc.txt":
            return Sidecar(description=_long(_decoded(raw)))
        if name == "reader.txt":
            first = _decoded(raw).strip().partition("\n")[0]
            return Sidecar(narrators=tuple(split_people(_line(first))))
        if name == "metadata.json":
            return _metadata(json.loads(_decoded(raw)))
        if extension_of(name) == ".cue":
            return Sidecar(marks=read_cue(_decoded(raw)))
        return _opf(raw)
    except (OSError, ValueError, ET.ParseError, TypeError, KeyError, RecursionError) as error:
        _log.debug("The sidecar %s can't be read: %s", path, error)
        return Sidecar()


def split_series(text: str) -> tuple[str, str]:
    """Split `Saga #4` into name and number, the number free text."""
    found = _SERIES.match(text.strip())
    return (found["name"], found["number"]) if found else (text.strip(), "")


def _read(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(_MOST_BYTES)


def _decoded(raw: bytes) -> str:
    """Decode a text file as people's editors write them."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _metadata(found: Any) -> Sidecar:  # noqa: ANN401 - JSON
    """Read Audiobookshelf's metadata.json, which a person may have written too (A-77)."""
    if not isinstance(found, dict):
        return Sidecar()
    if isinstance(found.get("metadata"), dict):
        found = {**found, **found["metadata"]}
    return Sidecar(
        title=_line(found.get("title")),
        subtitle=_line(found.get("subtitle")),
        authors=_lines(found.get("authors")),
        narrators=_lines(found.get("narrators")),
        series=tuple(split_series(text) for text in _lines(found.get("series"))),
        year=_line(found.get("publishedYear")),
        description=_long(str(found.get("description") or "")),
        language=_line(found.get("language")),
        asin=_line(found.get("asin")),
        isbn=_line(found.get("isbn")),
        marks=_chapters(found.get("chapters")),
    )


def _chapters(found: Any) -> tuple[Mark, ...]:  # noqa: ANN401 - JSON
    if not isinstance(found, list):
        return ()
    marks = []
    for entry in found:
        start, end = float(entry["start"]), float(entry["end"])
        if 0 <= start < end < 1e7:
            marks.append(Mark(_line(entry.get("title")), round(start, 3), round(end, 3)))
    return tuple(marks)


def _opf(raw: bytes) -> Sidecar:
    if b"<!ENTITY" in raw:
        raise ValueError("an OPF file with entities")
    metadata = ET.fromstring(raw).find(f"{_OPF}metadata")
    if metadata is None:
        return Sidecar()
    series, number = _meta(metadata, "calibre:series"), _meta(metadata, "calibre:series_index")
    return Sidecar(
        title=_first(metadata, "title"),
        authors=_creators(metadata, "aut", default=True),
        narrators=_creators(metadata, "nrt", default=False),
        series=((series, number),) if series else (),
        year=found[0] if (found := _YEAR.search(_first(metadata, "date"))) else "",
        description=_long(_ELEMENT.sub(" ", _raw(metadata, "description"))),
        language=_first(metadata, "language"),
        isbn=_identifier(metadata, "isbn"),
        asin=_identifier(metadata, "asin") or _identifier(metadata, "amazon"),
    )


def _creators(metadata: ET.Element, role: str, *, default: bool) -> tuple[str, ...]:
    """Return people of a role as they are written: OPF names are one element each, never split (A-76)."""
    found = []
    for kind in ("creator", "contributor"):
        for element in metadata.findall(_DC + kind):
            given = element.get(f"{_OPF}role") or element.get("role")
            if given == role or (given is None and default and kind == "creator"):
                found.append(_line(element.text))
    return tuple(name for name in found if name)


def _meta(metadata: ET.Element, name: str) -> str:
    for element in metadata.findall(f"{_OPF}meta"):
        if element.get("name") == name:
            return _line(element.get("content"))
    return ""


def _identifier(metadata: ET.Element, scheme: str) -> str:
    for element in metadata.findall(f"{_DC}identifier"):
        if (element.get(f"{_OPF}scheme") or "").lower() == scheme:
            return _line(element.text)
    return ""


def _raw(metadata: ET.Element, name: str) -> str:
    return metadata.findtext(_DC + name) or ""


def _first(metadata: ET.Element, name: str) -> str:
    return _line(_raw(metadata, name))


def _line(value: object) -> str:
    if value is None or isinstance(value, (dict, list, bool)):
        return ""
    kept = "".join(c if c.isprintable() else " " for c in nfc(str(value))[: 2 * _LINE])
    return " ".join(kept.split()).encode("utf-8", "ignore").decode()[:_LINE]


def _lines(value: object) -> tuple[str, ...]:
    entries: Iterable[object] = value if isinstance(value, list) else [value]
    names = (entry.get("name") if isinstance(entry, dict) else entry for entry in entries)
    return tuple(text for text in map(_line, names) if text)


def _long(text: str) -> str:
    kept = "".join(c if c.isprintable() or c == "\n" else " " for c in nfc(text)[: 2 * _LONG])
    return kept.strip().encode("utf-8", "ignore").decode()[:_LONG]
