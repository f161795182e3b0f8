"""A text's words placed by their share of its characters, where no engine timed them."""

from bridge_agent.transcription.assembly.scripts import pieces


def spread(text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """Return (piece with its leading space, start, end) for a text from `start` to `end`, in whole units."""
    found = pieces(text)
    total = sum(len(piece) for piece in found)
    placed, passed = [], 0
    for piece in found:
        begin = start + (end - start) * passed // total
        passed += len(piece)
        placed.append((piece, begin, start + (end - start) * passed // total))
    return placed
