"""Joining: what a person pastes on another machine to make it a worker, for each kind of worker."""

import json
import shlex
from dataclasses import dataclass

from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.engines.errors import INSTALL, PACKAGE

IMAGE = "audiobook-bridge-agent:speech-gpu"
STOP_S = 600
"""How long a worker is left to end the parts it has before it is killed: a slow machine takes minutes."""
CERTIFICATE = "bridge-workers.pem"
"""What the certificate is called when it is downloaded."""

Setting = tuple[str, str]


@dataclass(frozen=True)
class Way:
    """One way to join: `text` is pasted as it stands; `id` is one word, `notes` are sentences."""

    id: str
    title: str
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Invited:
    """An invitation as its page shows it, this once."""

    name: str
    token: str
    url: str
    fingerprint: str | None
    model: str | None = None

    @property
    def tls(self) -> bool:
        """Whether the listener speaks https, with a certificate of its own."""
        return self.fingerprint is not None


def model_of(asked: str | None, settings: BridgeSettings) -> str | None:
    """Return the model that a worker's line shall name: the one asked for, else this Bridge's own.

    None where that is every machine's default, or a folder that the other machine hasn't.
    """
    ours = settings.speech_model
    return asked or (ours if ours != BridgeSettings.speech_model and is_name(ours) else None)


def is_name(model: str) -> bool:
    """Tell whether a model is a name that means the same on every machine, and no folder of this one."""
    return not any(character in model for character in "/\\")


def own(invited: Invited) -> tuple[Way, ...]:
    """Return the lines for our own worker; none of them holds the token, which it asks for."""
    return (
        Way("pip", "Linux, macOS", f"{INSTALL} && {_command(invited)}"),
        Way("powershell", "Windows PowerShell", _powershell(invited)),
        Way(
            "docker",
            "Docker",
            _docker(invited),
            (
                "packaging/docker says how the image is built, with --build-arg 'EXTRAS=[speech-gpu]', and "
                "--gpus all needs the NVIDIA Container Toolkit.",
                "Where there is no NVIDIA GPU, leave out --gpus all; an image built with [speech] will do.",
            ),
        ),
    )


def foreign(invited: Invited) -> tuple[Way, ...]:
    """Return the settings for the workers of two public projects, the token among them."""
    return (
        Way("voicy", "A Voicy worker", _settings(_voicy(invited)), _voicy_notes(invited)),
        Way("scimesh", "A SciMesh worker agent", _settings(_scimesh(invited)), _scimesh_notes(invited)),
    )


def _command(invited: Invited) -> str:
    words = ["bridge-agent", "worker", "--url", invited.url]
    if invited.fingerprint:
        words += ["--fingerprint", invited.fingerprint]
    line = shlex.join(words)
    return f"BRIDGE_SPEECH_MODEL={shlex.quote(invited.model)} {line}" if invited.model else line


def _powershell(invited: Invited) -> str:
    steps = [f'py -m pip install "{PACKAGE}"']
    if invited.model:
        steps.append(f"$env:BRIDGE_SPEECH_MODEL = {_quoted(invited.model)}")
    pin = f" --fingerprint {invited.fingerprint}" if invited.fingerprint else ""
    steps.append(f"py -m bridge_agent worker --url {_quoted(invited.url)}{pin}")
    return "; ".join(steps)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _docker(invited: Invited) -> str:
    # The image's health is that of a Bridge's page, and a worker has none.
    words = ["docker", "run", "-it", "--no-healthcheck", "--gpus", "all", "--stop-timeout", str(STOP_S)]
    words += ["-v", "bridge-worker:/config", "-e", f"BRIDGE_WORKER_URL={invited.url}"]
    if invited.fingerprint:
        words += ["-e", f"BRIDGE_WORKER_FINGERPRINT={invited.fingerprint}"]
    if invited.model:
        words += ["-e", f"BRIDGE_SPEECH_MODEL={invited.model}"]
    return shlex.join([*words, IMAGE, "worker"])


def _settings(settings: tuple[Setting, ...]) -> str:
    return "\n".join(f"{name}={value}" for name, value in settings)


def _voicy(invited: Invited) -> tuple[Setting, ...]:
    return (
        ("VOICY_WORKER_API_URL", f"{invited.url}/worker/v1"),
        ("VOICY_WORKER_TOKEN", invited.token),
        # Its client fetches audio from this origin alone.
        ("VOICY_WORKER_TELEGRAM_API_URL", invited.url),
        *((("VOICY_WORKER_MODEL", invited.model),) if invited.model else ()),
        *((("NODE_EXTRA_CA_CERTS", CERTIFICATE),) if invited.tls else ()),
    )


def _voicy_notes(invited: Invited) -> tuple[str, ...]:
    what = "Its program, VOICY_WORKER_TRANSCRIBE_EXECUTABLE and …_ARGS_JSON, stays as it is."
    if invited.tls:
        return (what, _CERTIFICATE.format("NODE_EXTRA_CA_CERTS"))
    return (
        what,
        "This kind takes audio by https alone, unless it runs on this machine: set BRIDGE_WORKER_TLS to on, "
        "start the Bridge again, and invite it anew.",
    )


def _scimesh(invited: Invited) -> tuple[Setting, ...]:
    capabilities = ["transcribe", *([f"transcribe:{invited.model}"] if invited.model else [])]
    return (
        ("COORDINATOR_URL", invited.url),
        ("WORKER_AUTH_TOKEN", invited.token),
        ("WORKER_NAME", invited.name),
        ("CAPABILITIES", json.dumps(capabilities)),
        *((("SCIMESH_CA_CERT", CERTIFICATE),) if invited.tls else ()),
    )


def _scimesh_notes(invited: Invited) -> tuple[str, ...]:
    what = "TASK_RUNNER names the program that hears a part: 16 kHz mono FLAC in, JSON with segments out."
    return (what, _CERTIFICATE.format("SCIMESH_CA_CERT")) if invited.tls else (what,)


_CERTIFICATE = "{} is the path of this Bridge’s certificate on that machine; download it above the settings."
