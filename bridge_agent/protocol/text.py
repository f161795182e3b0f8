"""The limits of free text on the wire: cleaned and cut, never refused (R-038, R-065, R-066)."""

STEP_BYTES = 128
MESSAGE_BYTES = 1024
BRIDGE_ERROR_BYTES = 1024
SERVER_ERROR_BYTES = 2048
VERSION_BYTES = 128
WORKER_TEXT_BYTES = 128
PATH_BYTES = 1024
RESULT_BYTES = 256 * 1024


def cut(text: str, most: int) -> str:
    """Return the text in at most `most` bytes of UTF-8, cut at a character's edge."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return raw.decode("utf-8")
    return raw[:most].decode("utf-8", "ignore")


def clean(text: str, most: int, keep_line_breaks: bool = False) -> str:
    """Return the text with control characters as spaces, in at most `most` bytes of UTF-8."""
    kept = "\n" if keep_line_breaks else ""
    return cut("".join(c if c in kept or not _is_control(c) else " " for c in text), most)


def _is_control(character: str) -> bool:
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000
