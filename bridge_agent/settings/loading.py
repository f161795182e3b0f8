"""How settings are declared and loaded: flag, environment, file, default, in this order."""

import dataclasses
import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, cast

from bridge_agent.base import paths
from bridge_agent.base.errors import SettingsError
from bridge_agent.base.files import read_secret_file
from bridge_agent.settings import values

T = TypeVar("T")
Source = Literal["flag", "environment", "file", "default"]

# How alike a mistyped name must be to a known one to be asked about: all share a prefix.
ALIKE = 0.8


@dataclass(frozen=True)
class Origin:
    """Where a setting's value came from: the kind of place, and its name there."""

    source: Source
    name: str


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
    log_level: str = option(
        "info", values.one_of("debug", "info", "warning", "error"), "how much the log says"
    )
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


def _data_dir(cls: type[Settings], environ: Mapping[str, str], given: Path | None) -> tuple[Path, Origin]:
    if given is not None:
        return given.expanduser().absolute(), Origin("flag", "--data-dir")
    name = cls.env_name("data_dir")
    if environ.get(name, "").strip():
        return values.folder(environ[name].strip()).absolute(), Origin("environment", name)
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
