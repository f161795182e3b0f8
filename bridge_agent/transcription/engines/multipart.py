"""A form with one file, as `multipart/form-data`."""

import hashlib
from collections.abc import Sequence


def form(fields: Sequence[tuple[str, str]], name: str, filename: str, content: bytes) -> tuple[bytes, str]:
    """Return the body of a form with a file, and its content type."""
    # A digest of the content can't stand in the content by chance, and equal parts give equal requests.
    boundary = hashlib.sha256(content).hexdigest()
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in fields
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\n'
    parts.append(f"{head}Content-Type: audio/wav\r\n\r\n".encode())
    parts += [content, f"\r\n--{boundary}--\r\n".encode()]
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"
