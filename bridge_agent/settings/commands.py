"""The settings of each command: the Bridge's, the home server's, the worker's."""

import difflib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bridge_agent.base.hours import Hours
from bridge_agent.settings import values
from bridge_agent.settings.loading import ALIKE, Settings, option
from bridge_agent.settings.values import Address, NamedFolder

_COMPUTE = ("auto", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "float16", "bfloat16", "float32")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class BridgeSettings(Settings):
    """The Bridge's settings (`bridge-agent run`)."""

    listen: Address = option(
        Address("127.0.0.1", 13380), values.address, "where the Bridge's own page listens"
    )
    server_url: str = option("", values.url, "the server to pair with at the first start")
    pair_code: str = option("", values.text, "the code to pair with at the first start", secret=True)
    name: str = option("", values.text, "what the server calls this Bridge; the machine's name if empty")
    public_url: str = option(
        "", values.url, "the page's address as your network reaches it; the console links to it"
    )
    allowed_hosts: tuple[str, ...] = option(
        (), values.names, "more host names under which the page may be opened"
    )
    page_password: str = option("", values.text, "the page's password", secret=True)
    token_store: str = option(
        "auto", values.one_of("auto", "keyring", "file"), "where the token is kept: auto, keyring or file"
    )
    ca_file: str = option("", values.text, "a file of certificates to trust besides the system's")
    disabled_kinds: tuple[str, ...] = option((), values.names, "kinds of job that this Bridge shall not run")
    heartbeat_seconds: float = option(30.0, values.seconds, "between two heartbeats")
    refused_retry_seconds: float = option(300.0, values.seconds, "before a refused token is tried again")
    claim_wait_seconds: float = option(
        25.0, values.seconds, "how long one request for work waits at the server"
    )
    report_seconds: float = option(2.0, values.seconds, "at least between two reports of the same step")
    keepalive_seconds: float = option(10.0, values.seconds, "at most between two reports of a job")
    unreported_retry_seconds: float = option(
        30.0, values.seconds, "before an unsent final report is tried again"
    )
    speech_model: str = option(
        "small",
        values.text,
        "the speech model: a name that is downloaded once, or a folder",
        section="speech",
    )
    speech_device: str = option(
        "auto",
        values.one_of("auto", "cpu", "cuda"),
        "what computes speech: auto, cpu or cuda",
        section="speech",
    )
    speech_compute: str = option(
        "auto",
        values.one_of(*_COMPUTE),
        "the numbers speech is computed in: auto, int8, float16, …",
        section="speech",
    )
    speech_processes: int | None = option(
        None,
        values.processes,
        "engine processes; auto: physical cores less one; 0: none here",
        section="speech",
    )
    speech_server: str = option(
        "",
        values.url,
        "a speech server of the OpenAI shape to use instead of the own engine",
        section="speech",
    )
    cluster: str = option(
        "", values.scheduler, "the scheduler of a Dask cluster that parts of books are heard on too"
    )
    transcripts_beside_books: bool = option(
        False, values.switch, "on: a finished transcript is also written into its book's folder"
    )
    worker_listen: Address = option(
        Address("0.0.0.0", 13381), values.address, "where workers reach the Bridge, once one is invited"
    )
    worker_tls: str = option(
        "auto",
        values.one_of("auto", "on", "off"),
        "https for workers; auto: unless only this machine reaches it",
    )
    worker_lease_seconds: float = option(
        120.0, values.seconds, "how long a worker's claim lives without a beat"
    )
    worker_stale_seconds: float = option(
        900.0, values.seconds, "how long a claim of the second kind of worker lives without a beat"
    )
    worker_any_model: bool = option(
        True, values.switch, "on: workers with another model, or one nobody knows, take parts too"
    )
    worker_max_tries: int = option(3, values.count, "tries before a part of a book is given up")
    worker_max_pause_seconds: float = option(300.0, values.seconds, "at most between two tries of a part")

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

    listen: Address = option(Address("127.0.0.1", 13390), values.address, "where the server listens")
    name: str = option("Home", values.text, "what the server is called")
    admin_password: str = option(
        "", values.text, "the first admin's password; made and printed if empty", secret=True
    )
    libraries: tuple[NamedFolder, ...] = option(
        (), values.libraries, "Name=/path, joined by ;, added at first start"
    )
    public_url: str = option("", values.url, "the server's address from outside")
    address: str = option("", values.url, "the server's address at home, which the Bridge is given")
    tls: str = option("off", values.tls, "off, self-signed, or cert.pem;key.pem")
    trusted_proxies: tuple[str, ...] = option(
        (), values.networks, "addresses whose X-Forwarded-For is believed"
    )
    pair_code_seconds: float = option(900.0, values.seconds, "how long a pairing code lives")
    lease_seconds: float = option(120.0, values.seconds, "how long a claim lives without a report")
    online_seconds: float = option(
        120.0, values.seconds, "how long after a heartbeat the Bridge counts as online"
    )
    max_attempts: int = option(3, values.count, "attempts before a job fails")
    capability_seconds: float = option(
        5.0, values.seconds, "how long GET /server may reuse a heartbeat it read"
    )

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

    url: str = option(
        "", values.url, "the address of the Bridge's worker listener, as the invitation shows it"
    )
    token: str = option("", values.text, "the worker's token; asked for if empty", secret=True)
    fingerprint: str = option(
        "", values.fingerprint, "the SHA-256 of the Bridge's certificate, which is pinned"
    )
    name: str = option("", values.text, "what this worker calls itself; the machine's name if empty")
    hours: Hours = option(
        Hours(), Hours.parse, "when it works in local time, like 22:00-07:00; always if empty"
    )
    poll_seconds: float = option(
        2.0, values.seconds, "between two questions for work; up to five times that later"
    )
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
            near = difflib.get_close_matches(name, known, 1, ALIKE)
            hint = f"; did you mean {near[0]}?" if near else "; take it out, or mend its name."
            _log.warning("Nothing reads the environment variable %s%s", name, hint)
