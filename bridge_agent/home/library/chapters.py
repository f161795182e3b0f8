"""Chapters on a book's time line, out of its files' own or one a file (A-51…A-54)."""

from collections.abc import Sequence

from bridge_agent.home.library.facts import File, Mark
from bridge_agent.home.library.text import fold, nfc

Line = list[tuple[str, float, float]]


def chapters_of(files: Sequence[File], title: str, given: Sequence[Mark] = ()) -> Line:
    """Return (title, start, end) in seconds of each chapter of the files in reading order.

    `given` are a sidecar's chapters, on the book's line; an end at its start means "up to the next". Without
    the length of every file before it, nothing on the line is sure, so a book with such a file has none.
    """
    lengths = [file.duration for file in files]
    total = sum(length or 0.0 for length in lengths)
    if given:
        return _on_line(given, total)
    if len(files) == 1:
        return [(mark.title, mark.start, mark.end) for mark in files[0].said.marks]
    if any(length is None for length in lengths):
        return []
    names = _titles(files, title)
    line: Line = []
    start = 0.0
    for file, name in zip(files, names, strict=True):
        length = file.duration or 0.0
        marks = file.said.marks
        if len(marks) > 1:
            line += [(mark.title, round(start + mark.start, 3), round(start + mark.end, 3)) for mark in marks]
        else:
            line.append((name, round(start, 3), round(start + length, 3)))
        start += length
    return line


def _titles(files: Sequence[File], book: str) -> list[str]:
    """Return a title a file: its title tag where all differ and none is the book's, else its name (A-52)."""
    tagged = [file.said.title for file in files]
    folded = {fold(title) for title in tagged}
    if len(folded) == len(files) and "" not in folded and fold(book) not in folded:
        return tagged
    return [nfc(file.stem).strip() for file in files]


def _on_line(given: Sequence[Mark], total: float) -> Line:
    line: Line = []
    for number, mark in enumerate(given, 1):
        end = mark.end
        if end <= mark.start:
            end = given[number].start if number < len(given) else total
        if end > mark.start:
            line.append((mark.title or f"Chapter {number}", mark.start, round(end, 3)))
    return line
