"""Settings in plain words: each value, where it came from, and what would change it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge_agent.page.views_jobs import Tag
from bridge_agent.settings import BridgeSettings, Origin


@dataclass(frozen=True)
class SettingRow:
    """One setting: `value` is what a person reads, `how` names where it is set."""

    name: str
    help: str
    value: str
    tag: Tag
    how: str


_TAGS = {
    "flag": Tag("", "command line", "on"),
    "environment": Tag("", "environment", "on"),
    "file": Tag("", "bridge.toml", "on"),
    "default": Tag("", "default"),
}


def rows(settings: BridgeSettings) -> list[SettingRow]:
    """Return all settings, the data folder first; a secret's value is never among them."""
    found = [
        _row(
            "data_dir",
            "where this Bridge keeps its state, token and log",
            str(settings.data_dir),
            settings.origins.get("data_dir", Origin("default", "data_dir")),
        )
    ]
    for option in settings.options():
        value = getattr(settings, option.name)
        origin = settings.origins.get(option.name, Origin("default", option.name))
        shown = ("set, and not shown" if value else "not set") if option.metadata["secret"] else told(value)
        found.append(_row(option.name, option.metadata["help"], shown, origin))
    return found


def _row(name: str, help_text: str, value: str, origin: Origin) -> SettingRow:
    return SettingRow(name, help_text[:1].upper() + help_text[1:], value, _TAGS[origin.source], how(origin))


def how(origin: Origin) -> str:
    """Say where a value came from and so where it is changed; empty for a default."""
    if origin.source == "environment":
        return f"Set by the environment variable {origin.name}; change it there and start again."
    if origin.source == "file":
        return f"Set as {origin.name} in bridge.toml; change it there and start again."
    if origin.source == "flag":
        return f"Given on the command line as {origin.name}."
    return ""


_STRENGTHS = {
    "strong": Tag("✓", "Strong", "ok"),
    "fair": Tag("!", "Fair", "warn"),
    "none": Tag("○", "None kept"),
}
_PLACES = {
    "keyring": "Token: in this computer’s keyring",
    "file": "Token: in a sealed file",
    "none": "No token kept",
}


def strength_tag(strength: str) -> Tag:
    """Return how strong the token's place is, as a word."""
    return _STRENGTHS[strength]


def short_place(kind: str) -> str:
    """Say in a few words where the token is, for the foot of every page."""
    return _PLACES[kind]


def told(value: Any) -> str:  # noqa: ANN401 - a setting's value is of any kind
    """Write a setting's value."""
    if value is None:
        return "auto"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g} s"
    if isinstance(value, str | Path):
        return str(value) or "not set"
    if isinstance(value, Iterable):
        return ", ".join(str(item) for item in value) or "none"
    return str(value)
