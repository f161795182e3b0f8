"""Settings: one frozen object a command; flag > environment > file > default, each value knowing its origin.

A name in the environment is the prefix and the name in capitals (`BRIDGE_LISTEN`); each secret also as
`…_FILE`; an empty value counts as unset. The file is `bridge.toml` (`home.toml` for the home server) in the
data folder, the same names in lower case without the prefix.
"""

import dataclasses
import difflib
import ipaddress
import logging
import tomllib
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

from bridge_agent.base import paths
from bridge_agent.base.errors import SettingsError
from bridge_agent.base.files import read_secret_file
from bridge_agent.base.hours import Hours

# How alike a mistyped name must be to a known one to be asked about: all share a prefix.
_ALIKE = 0.8
_COMPUTE = ("auto", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "float16", "bfloat16", "float32")

T = TypeVar("T")
Source = Literal["flag", "environment", "file", "default"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Origin:
    """Where a setting's value came from: the kind of place, and its name there."""

    source: Source
    name: str


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


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) <= 65535 or not host:
        raise ValueError("needs a host and a port, like 127.0.0.1:13380")
    return Address(host.strip("[]"), int(port))


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError("needs a number of seconds above 0")
    return value


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError("needs a whole number from 1")
    return int(text)


def _switch(text: str) -> bool:
    if text.lower() not in ("on", "off", "true", "false"):
        raise ValueError("needs on or off")
    return text.lower() in ("on", "true")


def _processes(text: str) -> int | None:
    if text.lower() == "auto":
        return None
    if not text.isdigit() or int(text) > 256:
        raise ValueError("needs auto, or a whole number from 0")
    return int(text)


def _url(text: str) -> str:
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


def _scheduler(text: str) -> str:
    wanted = ValueError("needs a scheduler's address, like tcp://scheduler:8786")
    try:
        parts = urllib.parse.urlsplit(text)
        right = parts.scheme in ("tcp", "tls") and bool(parts.hostname) and bool(parts.port)
    except ValueError as error:
        raise wanted from error
    if not right or parts.username is not None:
        raise wanted
    return text.rstrip("/")


def _folder(text: str) -> Path:
    return Path(text).expanduser()


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace(";", ",").split(",") if part.strip())


def _networks(text: str) -> tuple[str, ...]:
    names = _names(text)
    try:
        for name in names:
            ipaddress.ip_network(name, strict=False)
    except ValueError as error:
        raise ValueError("needs IP addresses or networks, like 10.0.0.0/8, joined by ,") from error
    return names


def _one_of(*choices: str) -> Callable[[str], str]:
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


def _libraries(text: str) -> tuple[NamedFolder, ...]:
    found = []
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, root = entry.partition("=")
        if not equals or not name.strip() or not root.strip():
            raise ValueError("needs Name=/path, several joined by ;")
        found.append(NamedFolder(name.strip(), Path(root.strip()).expanduser()))
    return tuple(found)


def _tls(text: str) -> str:
    if text in ("off", "self-signed"):
        return text
    certificate, semicolon, key = text.partition(";")
    if not semicolon or not certificate or not key:
        raise ValueError("needs off, self-signed, or cert.pem;key.pem")
    return text


def _text(text: str) -> str:
    return text


def _fingerprint(text: str) -> str:
    plain = text.lower().removeprefix("sha256:").replace(":", "").replace(" ", "")
    if len(plain) != 64 or not set(plain) <= set("0123456789abcdef"):
        raise ValueError("needs the 64 hexadecimal digits that the invitation shows")
    return plain


def option(
    default: T, parse: Callable[[str], object], help: str, *, secret: bool = False, section: str = ""
) -> T:
    """Declare a setting: its default, how its text is read (raises ValueError), and what it is for."""
    metadata = {"parse": parse, "help": help, "secret": secret, "section": section}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the settings of each command share."""

    data_dir: Path
    log_level: str = option("info", _one_of("debug", "info", "warning", "error"), "how much the log says")
    origins: Mapping[str, Origin] = field(default_factory=dict, repr=False)

    @classmethod
    def prefix(cls) -> str:
        """Return what the environment's names begin with."""
        raise NotImplementedError

    @classmethod
    def options(cls) -> "list[dataclasses.Field[Any]]":
        """Return the declared settings, the data folder apart."""
        return [f for f in dataclasses.fields(cls) if "parse" in f.metadata]

    @classmethod
    def env_name(cls, name: str) -> str:
        """Return a setting's name in the environment."""
        return cls.prefix() + name.upper()

    @classmethod
    def load(
        cls,
        environ: Mapping[str, str],
        flags: Mapping[str, object] | None = None,
        data_dir: Path | None = None,
    ) -> Self:
        """Read all settings for this command.

        `flags` holds values given on the command line, as text or already of their type. Raises
        SettingsError with the name of the setting that is wrong and what it needs.
        """
        values: dict[str, object] = {}
        origins: dict[str, Origin] = {}
        folder, origins["data_dir"] = _data_dir(cls, environ, data_dir)
        file = _read_file(folder / cls.file_name())
        for declared in cls.options():
            found = _find(cls, declared, environ, flags or {}, file)
            if found is not None:
                values[declared.name], origins[declared.name] = found
            else:
                origins[declared.name] = Origin("default", declared.name)
        _refuse_unknown(cls, file)
        return cls(data_dir=folder, origins=origins, **cast(Any, values))

    @classmethod
    def file_name(cls) -> str:
        """Return the name of the settings file in the data folder."""
        raise NotImplementedError

    @classmethod
    def folder_name(cls) -> str:
        """Return the name of the default data folder."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class BridgeSettings(Settings):
    """The Bridge's settings (`bridge-agent run`)."""

    listen: Address = option(Address("127.0.0.1", 13380), _address, "where the Bridge's own page listens")
    server_url: str = option("", _url, "the server to pair with at the first start")
    pair_code: str = option("", _text, "the code to pair with at the first start", secret=True)
    name: str = option("", _text, "what the server calls this Bridge; the machine's name if empty")
    public_url: str = option(
        "", _url, "the page's address as your network reaches it; the console links to it"
    )
    allowed_hosts: tuple[str, ...] = option((), _names, "more host names under which the page may be opened")
    page_password: str = option("", _text, "the page's password", secret=True)
    token_store: str = option(
        "auto", _one_of("auto", "keyring", "file"), "where the token is kept: auto, keyring or file"
    )
    ca_file: str = option("", _text, "a file of certificates to trust besides the system's")
    disabled_kinds: tuple[str, ...] = option((), _names, "kinds of job that this Bridge shall not run")
    heartbeat_seconds: float = option(30.0, _seconds, "between two heartbeats")
    refused_retry_seconds: float = option(300.0, _seconds, "before a refused token is tried again")
    claim_wait_seconds: float = option(25.0, _seconds, "how long one request for work waits at the server")
    report_seconds: float = option(2.0, _seconds, "at least between two reports of the same step")
    keepalive_seconds: float = option(10.0, _seconds, "at most between two reports of a job")
    unreported_retry_seconds: float = option(30.0, _seconds, "before an unsent final report is tried again")
    speech_model: str = option(
        "small", _text, "the speech model: a name that is downloaded once, or a folder", section="speech"
    )
    speech_device: str = option(
        "auto", _one_of("auto", "cpu", "cuda"), "what computes speech: auto, cpu or cuda", section="speech"
    )
    speech_compute: str = option(
        "auto",
        _one_of(*_COMPUTE),
        "the numbers speech is computed in: auto, int8, float16, …",
        section="speech",
    )
    speech_processes: int | None = option(
        None, _processes, "engine processes; auto: physical cores less one; 0: none here", section="speech"
    )
    speech_server: str = option(
        "", _url, "a speech server of the OpenAI shape to use instead of the own engine", section="speech"
    )
    cluster: str = option(
        "", _scheduler, "the scheduler of a Dask cluster that parts of books are heard on too"
    )
    transcripts_beside_books: bool = option(
        False, _switch, "on: a finished transcript is also written into its book's folder"
    )
    worker_listen: Address = option(
        Address("0.0.0.0", 13381), _address, "where workers reach the Bridge, once one is invited"
    )
    worker_tls: str = option(
        "auto", _one_of("auto", "on", "off"), "https for workers; auto: unless only this machine reaches it"
    )
    worker_lease_seconds: float = option(120.0, _seconds, "how long a worker's claim lives without a beat")
    worker_stale_seconds: float = option(
        900.0, _seconds, "how long a claim of the second kind of worker lives without a beat"
    )
    worker_any_model: bool = option(
        True, _switch, "on: workers with another model, or one nobody knows, take parts too"
    )
    worker_max_tries: int = option(3, _count, "tries before a part of a book is given up")
    worker_max_pause_seconds: float = option(300.0, _seconds, "at most between two tries of a part")

    @classmethod
    def prefix(cls) -> str:
        """Return the prefix of the Bridge's names."""
        return "BRIDGE_"

    @classmethod
    def file_name(cls) -> str:
        """Return the file's name."""
        return "bridge.toml"

    @classmethod
    def folder_name(cls) -> str:
        """Return the data folder's name."""
        return "bridge-agent"


@dataclass(frozen=True, kw_only=True)
class HomeSettings(Settings):
    """The home server's settings (`bridge-agent home-server`)."""

    listen: Address = option(Address("127.0.0.1", 13390), _address, "where the server listens")
    name: str = option("Home", _text, "what the server is called")
    admin_password: str = option(
        "", _text, "the first admin's password; made and printed if empty", secret=True
    )
    libraries: tuple[NamedFolder, ...] = option(
        (), _libraries, "Name=/path, joined by ;, added at first start"
    )
    public_url: str = option("", _url, "the server's address from outside")
    address: str = option("", _url, "the server's address at home, which the Bridge is given")
    tls: str = option("off", _tls, "off, self-signed, or cert.pem;key.pem")
    trusted_proxies: tuple[str, ...] = option((), _networks, "addresses whose X-Forwarded-For is believed")
    pair_code_seconds: float = option(900.0, _seconds, "how long a pairing code lives")
    lease_seconds: float = option(120.0, _seconds, "how long a claim lives without a report")
    online_seconds: float = option(120.0, _seconds, "how long after a heartbeat the Bridge counts as online")
    max_attempts: int = option(3, _count, "attempts before a job fails")
    capability_seconds: float = option(5.0, _seconds, "how long GET /server may reuse a heartbeat it read")

    @classmethod
    def prefix(cls) -> str:
        """Return the prefix of the home server's names."""
        return "BRIDGE_HOME_"

    @classmethod
    def file_name(cls) -> str:
        """Return the file's name."""
        return "home.toml"

    @classmethod
    def folder_name(cls) -> str:
        """Return the data folder's name."""
        return "bridge-home-server"


def _same(name: str) -> Any:  # noqa: ANN401
    """Declare a setting that a worker shares with a Bridge, its name in the environment too."""
    there = BridgeSettings.__dataclass_fields__[name]
    return field(default=there.default, metadata=there.metadata)


@dataclass(frozen=True, kw_only=True)
class WorkerSettings(Settings):
    """A worker's settings (`bridge-agent worker`): its own, and those of speech as a Bridge has them."""

    url: str = option("", _url, "the address of the Bridge's worker listener, as the invitation shows it")
    token: str = option("", _text, "the worker's token; asked for if empty", secret=True)
    fingerprint: str = option("", _fingerprint, "the SHA-256 of the Bridge's certificate, which is pinned")
    name: str = option("", _text, "what this worker calls itself; the machine's name if empty")
    hours: Hours = option(
        Hours(), Hours.parse, "when it works in local time, like 22:00-07:00; always if empty"
    )
    poll_seconds: float = option(2.0, _seconds, "between two questions for work; up to five times that later")
    refused_retry_seconds: float = _same("refused_retry_seconds")
    ca_file: str = _same("ca_file")
    speech_model: str = _same("speech_model")
    speech_device: str = _same("speech_device")
    speech_compute: str = _same("speech_compute")
    speech_processes: int | None = _same("speech_processes")
    speech_server: str = _same("speech_server")

    _SHARED: ClassVar = ("refused_retry_seconds", "ca_file")

    @classmethod
    def prefix(cls) -> str:
        """Return the prefix of a worker's own names."""
        return "BRIDGE_WORKER_"

    @classmethod
    def env_name(cls, name: str) -> str:
        """Return a setting's name in the environment: what is shared with a Bridge has the Bridge's."""
        if name in cls._SHARED or name.startswith("speech_"):
            return BridgeSettings.env_name(name)
        return super().env_name(name)

    @classmethod
    def file_name(cls) -> str:
        """Return the file's name."""
        return "worker.toml"

    @classmethod
    def folder_name(cls) -> str:
        """Return the data folder's name."""
        return "bridge-worker"


def warn_of_unknown(environ: Mapping[str, str]) -> None:
    """Log a warning for each BRIDGE_… name that nothing reads, with the nearest one that something does."""
    known = set()
    for kind in (BridgeSettings, HomeSettings, WorkerSettings):
        known.add(kind.env_name("data_dir"))
        for declared in kind.options():
            known.add(kind.env_name(declared.name))
            if declared.metadata["secret"]:
                known.add(kind.env_name(declared.name) + "_FILE")
    for name in sorted(environ):
        if name.startswith("BRIDGE_") and name not in known:
            near = difflib.get_close_matches(name, known, 1, _ALIKE)
            hint = f"; did you mean {near[0]}?" if near else "; take it out, or mend its name."
            _log.warning("Nothing reads the environment variable %s%s", name, hint)


def _data_dir(cls: type[Settings], environ: Mapping[str, str], given: Path | None) -> tuple[Path, Origin]:
    if given is not None:
        return given.expanduser().absolute(), Origin("flag", "--data-dir")
    name = cls.env_name("data_dir")
    if environ.get(name, "").strip():
        return _folder(environ[name].strip()).absolute(), Origin("environment", name)
    return paths.data_folder(cls.folder_name()), Origin("default", "data_dir")


def _read_file(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"The settings file {path} can't be read ({error}); mend that line.") from error
    except OSError as error:
        raise SettingsError(
            f"The settings file {path} can't be opened ({error.strerror}); mend its permissions, or choose "
            "another data folder with --data-dir."
        ) from error


def _find(
    cls: type[Settings],
    declared: "dataclasses.Field[Any]",
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    file: Mapping[str, object],
) -> tuple[object, Origin] | None:
    name = declared.name
    flag = flags.get(name)
    if flag is not None:
        shown = "--" + name.replace("_", "-")
        value = _parsed(declared, flag, shown) if isinstance(flag, str) else flag
        return value, Origin("flag", shown)
    env = cls.env_name(name)
    if text := environ.get(env, "").strip():
        # Blanks at a password's ends are part of it.
        text = environ[env].rstrip("\r\n") if declared.metadata["secret"] else text
        return _parsed(declared, text, env), Origin("environment", env)
    if declared.metadata["secret"] and (path := environ.get(env + "_FILE", "").strip()):
        return _parsed(declared, _secret(env, path), env + "_FILE"), Origin("environment", env + "_FILE")
    if (in_file := _in_file(cls, declared, file)) is not None:
        shown, text = in_file
        return _parsed(declared, text, f"{shown} in {cls.file_name()}"), Origin("file", shown)
    return None


def _in_file(
    cls: type[Settings], declared: "dataclasses.Field[Any]", file: Mapping[str, object]
) -> tuple[str, str] | None:
    """Find a setting in the file: `speech_model = …`, or `model = …` in the table `[speech]`."""
    section, name = declared.metadata["section"], declared.name
    table = file.get(section) if section else None
    inner = name.removeprefix(f"{section}_")
    places = [(name, file)]
    if isinstance(table, dict):
        places.insert(0, (inner, table))
    found = [(name if at is file else f"[{section}] {key}", at[key]) for key, at in places if key in at]
    if len(found) > 1:
        raise SettingsError(
            f"{cls.file_name()} sets both {found[0][0]} and {found[1][0]}, which are the same; take one out."
        )
    if not found or not (text := _as_text(found[0][1])).strip():
        return None
    return found[0][0], text


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return ";".join(str(item) for item in value)
    return str(value)


def _secret(env: str, path: str) -> str:
    try:
        return read_secret_file(Path(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{env}_FILE names {path}, which can't be read ({error}); mend the path or its permissions."
        ) from error


def _parsed(declared: "dataclasses.Field[Any]", text: object, shown: str) -> object:
    try:
        return declared.metadata["parse"](str(text))
    except ValueError as error:
        what = str(error) if str(error).startswith("needs") else f"is not right ({error})"
        said = "…" if declared.metadata["secret"] else text
        raise SettingsError(f"{shown} is “{said}” but {what}.") from error


def _refuse_unknown(cls: type[Settings], file: Mapping[str, object]) -> None:
    known = {f.name for f in cls.options()}
    sections = {f.metadata["section"] for f in cls.options() if f.metadata["section"]}
    for name, value in file.items():
        if name in sections and isinstance(value, dict):
            inner = {
                known_name.removeprefix(f"{name}_")
                for known_name in known
                if known_name.startswith(f"{name}_")
            }
            for key in value:
                _refuse_one(cls, key, inner, f"[{name}] {key}")
        else:
            _refuse_one(cls, name, known, name)


def _refuse_one(cls: type[Settings], name: str, known: set[str], shown: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]}?" if near else "; take it out."
        raise SettingsError(f"{cls.file_name()} has a setting “{shown}” that nothing reads{hint}")
