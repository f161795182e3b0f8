"""Codes that people carry between screens: eight characters of Crockford's base 32, shown XXXX-XXXX."""

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 8
_ALIKE = str.maketrans({"O": "0", "I": "1", "L": "1"})


def normal(text: str) -> str | None:
    """Return a typed code in its one form, or None for what can't be one.

    Either case, with or without spaces and dashes; letters that look like figures count as those.
    """
    bare = "".join(text.split()).replace("-", "").upper().translate(_ALIKE)
    if len(bare) != LENGTH or any(c not in ALPHABET for c in bare):
        return None
    return bare


def from_bytes(raw: bytes) -> str:
    """Return the code that eight or more random bytes stand for, without its dash."""
    return "".join(ALPHABET[byte % 32] for byte in raw[:LENGTH])


def shown(code: str) -> str:
    """Return a code as a person reads it."""
    return f"{code[:4]}-{code[4:]}"
