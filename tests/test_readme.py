"""The README tells the truth: its settings tables name every setting, with its default."""

import re
from pathlib import Path

import pytest

from bridge_agent.settings import BridgeSettings, HomeSettings, Settings, WorkerSettings

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
SWITCH = {"`on`": True, "`off`": False}


def table_row(name: str) -> str:
    rows = [
        line for line in README.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1]
    ]
    assert len(rows) == 1, f"{name} stands in {len(rows)} rows of the settings tables"
    return rows[0]


@pytest.mark.parametrize("kind", [BridgeSettings, HomeSettings, WorkerSettings])
def test_every_setting_stands_in_the_tables_once(kind: type[Settings]):
    names = [kind.env_name("data_dir"), *(kind.env_name(option.name) for option in kind.options())]
    assert all(table_row(name) for name in names)


@pytest.mark.parametrize("kind", [BridgeSettings, HomeSettings, WorkerSettings])
def test_numbers_in_the_tables_are_the_defaults(kind: type[Settings]):
    for option in kind.options():
        if isinstance(option.default, int | float):
            cells = [cell.strip() for cell in table_row(kind.env_name(option.name)).split("|")]
            names = re.findall(r"`([A-Z_]+)`", cells[1])
            defaults = [part.strip() for part in cells[2].split(",")]
            shown = defaults[names.index(kind.env_name(option.name))]
            assert (SWITCH[shown] if isinstance(option.default, bool) else float(shown)) == option.default


def test_no_setting_is_named_that_nothing_reads():
    kinds = (BridgeSettings, HomeSettings, WorkerSettings)
    known = {kind.env_name("data_dir") for kind in kinds}
    known |= {kind.env_name(option.name) for kind in kinds for option in kind.options()}
    named = set(re.findall(r"\bBRIDGE_[A-Z_]+[A-Z]\b", README))
    assert {name for name in named if name not in known and name.removesuffix("_FILE") not in known} == set()


def test_every_file_the_readme_links_to_is_there():
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", README):
        assert (Path(__file__).parent.parent / target).exists(), target
