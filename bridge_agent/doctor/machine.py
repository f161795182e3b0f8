"""What the doctor looks at on this machine: settings, versions, data folder, keyring."""

import os
import stat
import sys
from pathlib import Path

from bridge_agent.base import threads
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.doctor.findings import Finding, bad, from_message, ok, warn
from bridge_agent.doctor.probes import Probes
from bridge_agent.settings import BridgeSettings
from bridge_agent.vault import open_vault

LIMIT_S = 5.0
_LOW_BYTES = 1 << 30
_FULL_BYTES = 100 << 20
_WAL_RESET_MENDED = (3, 51, 3)


async def settings_and_versions(settings: BridgeSettings, probes: Probes) -> list[Finding]:
    """Tell where the settings come from and what the Bridge stands on."""
    given = [
        f"{name} from the {origin.source} ({origin.name})"
        for name, origin in sorted(settings.origins.items())
        if origin.source != "default"
    ]
    told = ", ".join(given) if given else "none is set, so all have their defaults"
    file = settings.data_dir / settings.file_name()
    found = probes.versions()
    sqlite = ".".join(map(str, found.sqlite))
    findings = [
        ok("settings_origins", f"Settings: {told}; the file for them is {file}."),
        ok("versions", f"This is Python {found.python} with aiohttp {found.aiohttp} on {found.system}."),
    ]
    if found.sqlite < _WAL_RESET_MENDED:
        note = "before 3.51.3 it can lose a reset of its log that races with a second connection's checkpoint"
        findings.append(
            ok("sqlite_wal_reset", f"SQLite is {sqlite}: {note}; the Bridge keeps to one that checkpoints.")
        )
    else:
        findings.append(ok("sqlite_version", f"SQLite is {sqlite}."))
    return findings


async def data_folder(settings: BridgeSettings, probes: Probes) -> list[Finding]:
    """Tell whether the data folder can hold what the Bridge keeps."""
    try:
        return await threads.files.call(LIMIT_S, _data_folder, settings.data_dir, probes)
    except TimeoutError:
        return [
            bad(
                "data_folder_no_answer",
                f"The data folder {settings.data_dir} did not answer within {LIMIT_S:g} s.",
                "Check the disk it lies on, or choose another folder with BRIDGE_DATA_DIR.",
            )
        ]


def _data_folder(folder: Path, probes: Probes) -> list[Finding]:
    there = next((part for part in (folder, *folder.parents) if part.exists()), folder)
    findings = []
    if not os.access(there, os.W_OK | os.X_OK):
        findings.append(
            bad(
                "data_folder_unwritable",
                f"The data folder {folder} can’t be written by this user.",
                "Give this user the right to write there, or choose another folder with BRIDGE_DATA_DIR.",
            )
        )
    elif there != folder:
        findings.append(ok("data_folder_new", f"The data folder {folder} is made at the first start."))
    else:
        findings.append(ok("data_folder_ok", f"The data folder is {folder}."))
    if kind := probes.network_file_system(there):
        findings.append(
            bad(
                "data_folder_network",
                f"The data folder {folder} lies on a network file system ({kind}), where SQLite loses data.",
                "Choose a folder on a local disk with BRIDGE_DATA_DIR.",
            )
        )
    return [*findings, *_open_to_others(folder), _space(there, probes)]


def _open_to_others(folder: Path) -> list[Finding]:
    if sys.platform == "win32":
        return []
    for path in (folder / "secrets", *sorted((folder / "secrets").glob("*"))):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            return [
                bad(
                    "secrets_open",
                    f"Other users of this machine can reach {path}, which keeps the token.",
                    f"Run chmod -R go-rwx {folder / 'secrets'}, then unpair and pair again with a new code.",
                )
            ]
    return []


def _space(folder: Path, probes: Probes) -> Finding:
    try:
        free = probes.free_bytes(folder)
    except OSError as error:
        return warn(
            "disk_unknown",
            f"How much space is free for the data folder can’t be told ({error.strerror or error}).",
            "Look at the disk it lies on.",
        )
    said = f"{free / (1 << 30):.1f} GiB are free on the data folder’s disk."
    if free < _FULL_BYTES:
        return bad("disk_full", said, "Free some space there: without it no job can be written down.")
    if free < _LOW_BYTES:
        return warn("disk_low", said, "Free some space there: transcripts and logs will need it.")
    return ok("disk_ok", said)


async def keyring(settings: BridgeSettings, probes: Probes) -> list[Finding]:
    """Try the system's keyring out; that alone proves one."""
    if settings.token_store == "file":
        return [ok("keyring_unused", "The token is kept in a sealed file, as the settings ask.")]
    needed = settings.token_store == "keyring"
    try:
        name = await threads.secrets.call(LIMIT_S, probes.try_keyring)
    except TimeoutError:
        why, code = f"The keyring did not answer within {LIMIT_S:g} s", "keyring_no_answer"
    except Exception:
        # A keyring raises whatever its maker chose; each of it means that there is none to be used.
        why, code = "There is no keyring that keeps a secret here", "keyring_none"
    else:
        return [ok("keyring_ok", f"A trial entry went into {name} and out again.")]
    if needed:
        advice = "Unlock the keyring, or set BRIDGE_TOKEN_STORE to auto or file."
        return [bad(code, f"{why}, and the settings ask for one.", advice)]
    if code == "keyring_none":
        return [ok(code, f"{why}; the token goes into a sealed file.")]
    return [warn(code, f"{why}.", "Unlock it, or set BRIDGE_TOKEN_STORE to file.")]


async def token(settings: BridgeSettings, clock: Clock, paired: bool) -> list[Finding]:
    """Tell whether the token of a paired Bridge can be had, and where it is."""
    if not paired:
        return []
    vault = await open_vault(settings, settings.data_dir, clock)
    try:
        kept = await vault.load()
    except BridgeError as error:
        return [from_message("token_not_ready", "bad", error.message)]
    if kept is None:
        return [
            bad(
                "token_gone",
                "This Bridge is paired, but its token can’t be opened on this machine any more.",
                "Unpair it, then pair it again with a new code from the server’s console.",
            )
        ]
    return [ok("token_kept", vault.describe().sentence)]
