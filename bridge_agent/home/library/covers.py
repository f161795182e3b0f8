"""Covers: which picture of a book is its cover (A-78)."""

from collections.abc import Sequence

from bridge_agent.home.library.facts import File
from bridge_agent.home.library.text import natural

# Below a path of a file nothing can lie on a disk, so this never hides a real one.
EMBEDDED = "/cover"


def cover_of(others: Sequence[File], tracks: Sequence[File]) -> str | None:
    """Return the path of a book's cover: `cover.*` at any depth, the first picture, or embedded art."""
    pictures = sorted(
        (file for file in others if file.kind == "picture" and file.size),
        key=lambda file: (file.path.count("/"), natural(file.path)),
    )
    named = [file for file in pictures if file.stem.lower() == "cover"]
    if pictures:
        return (named or pictures)[0].path
    return next((file.path + EMBEDDED for file in tracks if file.said.art), None)
