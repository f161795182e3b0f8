"""The values that settings take: how each is read from text, and what is said where it can't be."""

import ipaddress
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Address:
    """A host and a port to listen at."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback_name(self.host)


def is_loopback_name(host: str) -> bool:
    """Tell whether a host name or address means this machine alone."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def address(text: str) -> Address:
    """Read a host and a port; raises ValueError with what it needs."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) <= 65535 or not host:
        raise ValueError("needs a host and a port, like 127.0.0.1:13380")
    return Address(host.strip("[]"), int(port))


def seconds(text: str) -> float:
    """Read a length of time; raises ValueError with what it needs."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError("needs a number of seconds above 0")
    return value


def count(text: str) -> int:
    """Read a whole number from 1; raises ValueError with what it needs."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError("needs a whole number from 1")
    return int(text)


def switch(text: str) -> bool:
    """Read on or off; raises ValueError with what it needs."""
    if text.lower() not in ("on", "off", "true", "false"):
        raise ValueError("needs on or off")
    return text.lower() in ("on", "true")


def processes(text: str) -> int | None:
    """Read a number of processes; auto is None; raises ValueError with what it needs."""
    if text.lower() == "auto":
        return None
    if not text.isdigit() or int(text) > 256:
        raise ValueError("needs auto, or a whole number from 0")
    return int(text)


def url(text: str) -> str:
    """Read an absolute http(s) address; raises ValueError with what it needs."""
    wanted = ValueError("needs an absolute address that begins with http:// or https://")
    try:
        parts = urllib.parse.urlsplit(text)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        # A host in half a bracket, or a port above 65535.
        raise wanted from error
    if not right:
        raise wanted
    return text.rstrip("/")


def scheduler(text: str) -> str:
    """Read a scheduler's address; raises ValueError with what it needs."""
    wanted = ValueError("needs a scheduler's address, like tcp://scheduler:8786")
    try:
        parts = urllib.parse.urlsplit(text)
        right = parts.scheme in ("tcp", "tls") and bool(parts.hostname) and bool(parts.port)
    except ValueError as error:
        raise wanted from error
    if not right or parts.username is not None:
        raise wanted
    return text.rstrip("/")


def folder(text: str) -> Path:
    """Read a path, with ~ for home."""
    return Path(text).expanduser()


def names(text: str) -> tuple[str, ...]:
    """Read names joined by , or ;."""
    return tuple(part.strip() for part in text.replace(";", ",").split(",") if part.strip())


def networks(text: str) -> tuple[str, ...]:
    """Read networks joined by , or ;; raises ValueError with what it needs."""
    found = names(text)
    try:
        for name in found:
            ipaddress.ip_network(name, strict=False)
    except ValueError as error:
        raise ValueError("needs IP addresses or networks, like 10.0.0.0/8, joined by ,") from error
    return found


def one_of(*choices: str) -> Callable[[str], str]:
    """Return what reads one of some words."""

    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"needs one of {', '.join(choices)}")
        return text.lower()

    return parse


@dataclass(frozen=True)
class NamedFolder:
    """A library of the settings: its name and its root."""

    name: str
    root: Path


def libraries(text: str) -> tuple[NamedFolder, ...]:
    """Read named folders joined by ;; raises ValueError with what it needs."""
    found = []
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, root = entry.partition("=")
        if not equals or not name.strip() or not root.strip():
            raise ValueError("needs Name=/path, several joined by ;")
        found.append(NamedFolder(name.strip(), Path(root.strip()).expanduser()))
    return tuple(found)


def tls(text: str) -> str:
    """Read off, self-signed, or the two files of a certificate; raises ValueError with what it needs."""
    if text in ("off", "self-signed"):
        return text
    certificate, semicolon, key = text.partition(";")
    if not semicolon or not certificate or not key:
        raise ValueError("needs off, self-signed, or cert.pem;key.pem")
    return text


def text(text: str) -> str:
    """Take any text."""
    return text


def fingerprint(text: str) -> str:
    """Read a SHA-256 in hex, with or without colons; raises ValueError with what it needs."""
    plain = text.lower().removeprefix("sha256:").replace(":", "").replace(" ", "")
    if len(plain) != 64 or not set(plain) <= set("0123456789abcdef"):
        raise ValueError("needs the 64 hexadecimal digits that the invitation shows")
    return plain
