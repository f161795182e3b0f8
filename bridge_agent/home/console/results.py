"""A job's result in one line, kind by kind; what a Bridge sends is read with care and never trusted."""

from collections.abc import Mapping
from dataclasses import dataclass

from bridge_agent.home.console import words
from bridge_agent.home.console.words import Tag
from bridge_agent.protocol.bridge import MAX_VERIFY_FILES, VERIFY

_MOST_NAMED = 2


def result_line(kind: str, result: object) -> str | None:
    """Sum a result up in one line (R-109); None where there is none or its shape is not known."""
    if not isinstance(result, Mapping):
        return None
    if kind == VERIFY:
        return _verified(result)
    if kind == "transcribe.book":
        return _transcribed(result)
    return None


@dataclass(frozen=True)
class ComparedFile:
    """A file that a verify compared: its size here and on the server, and how they relate."""

    name: str
    size: str
    expected: str
    tag: Tag
    error: str | None


def compared_files(kind: str, result: object) -> list[ComparedFile]:
    """Return what a verify found, file by file; an empty list for anything else."""
    files = result.get("files") if kind == VERIFY and isinstance(result, Mapping) else None
    if not isinstance(files, list):
        return []
    return [_compared(file) for file in files[:MAX_VERIFY_FILES] if isinstance(file, Mapping)]


def _compared(file: Mapping[str, object]) -> ComparedFile:
    right = file.get("ok") is True
    return ComparedFile(
        name=words.name_of(words.text_in(file, "path") or "a file"),
        size=_size(file, "size"),
        expected=_size(file, "expected_size"),
        tag=Tag("Matches", "✓", "ok") if right else Tag("Differs", "✕", "bad"),
        error=words.text_in(file, "error"),
    )


def _size(file: Mapping[str, object], key: str) -> str:
    size = words.number_in(file, key)
    return "–" if size is None else f"{int(size):,}"


def _verified(result: Mapping[str, object]) -> str | None:
    """How many files matched, whether it can write, how long it took, where it looked."""
    files = result.get("files")
    if not isinstance(files, list):
        return None
    checked = [file for file in files if isinstance(file, Mapping)]
    wrong = [file for file in checked if file.get("ok") is not True]
    matched = len(checked) - len(wrong)
    # The Bridge compares all files and lists at most 50, those that differ first.
    listed = "listed " if len(checked) >= MAX_VERIFY_FILES else ""
    parts = [f"{matched} of {words.counted(len(checked), listed + 'file')} {_match(len(checked))}"]
    if wrong:
        parts[0] += _named(wrong)
    else:
        parts.append(_writable(result))
    elapsed = words.number_in(result, "elapsed_ms")
    if elapsed is not None:
        parts.append(f"took {words.long_or_short(elapsed / 1000)}")
    mount, path = words.text_in(result, "mount_path"), words.text_in(result, "path")
    if mount:
        parts.append(f"looked in {mount.rstrip('/')}/{path}" if path else f"looked in {mount}")
    return " · ".join(parts)


def _match(count: int) -> str:
    return "matches" if count == 1 else "match"


def _named(wrong: list[Mapping[str, object]]) -> str:
    told = []
    for file in wrong[:_MOST_NAMED]:
        name = words.name_of(words.text_in(file, "path") or "a file")
        told.append(f"“{name}”: {words.text_in(file, 'error') or 'differs'}")
    more = len(wrong) - len(told)
    rest = f"; and {more} more" if more else ""
    return f" ({'; '.join(told)}{rest})"


def _writable(result: Mapping[str, object]) -> str:
    if result.get("writable") is True:
        return "the folder can be written"
    why = words.text_in(result, "writable_error")
    return f"the folder can’t be written ({why})" if why else "the folder can’t be written"


def _transcribed(result: Mapping[str, object]) -> str | None:
    duration = words.number_in(result, "duration_seconds")
    if duration is None:
        return None
    spent = words.number_in(result, "seconds_spent")
    took = f" in {words.long_or_short(spent)}" if spent else ""
    parts = [f"{words.long_or_short(duration)} transcribed{took}"]
    if spent == 0:
        parts.append("the same as before, so nothing had to be done")
    count = words.number_in(result, "words")
    if count is not None:
        parts.append(words.counted(int(count), "word"))
    model = words.text_in(result.get("engine"), "model")
    if model:
        parts.append(f"model {model}")
    gaps, warnings = words.number_in(result, "gaps_total"), result.get("warnings")
    if gaps is None and isinstance(result.get("gaps"), list):
        gaps = len(result["gaps"])  # type: ignore[arg-type]
    if gaps:
        parts.append(f"{words.counted(int(gaps), 'gap')} where nothing could be heard")
    if isinstance(warnings, list) and warnings and isinstance(warnings[0], str):
        parts.append(warnings[0].rstrip("."))
    return " · ".join(parts)
