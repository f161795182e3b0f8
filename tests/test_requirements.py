"""Every numbered requirement of the protocol has at least one test that names it."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
PIPELINE = (
    *range(1, 9), *range(10, 14), *range(20, 23), *range(30, 33), *range(40, 47), 50, 51, *range(60, 68),
    70, 71,
)  # fmt: skip
ALL = [
    *(f"R-{number:03d}" for number in range(1, 110)),
    *(f"P-{number:03d}" for number in PIPELINE),
    *(f"{wire}-{number:02d}" for wire in "VS" for number in range(1, 16)),
]


_MARK = re.compile(r"^@pytest\.mark\.requirement\(([^)]*)\)", re.MULTILINE)
_TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


def named_requirements() -> dict[str, list[str]]:
    """Return requirement → the tests that carry its mark."""
    named: dict[str, list[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        for mark in _MARK.finditer(text):
            test = _TEST.search(text, mark.end())
            assert test is not None, f"{path.name} marks something that is no test"
            for requirement in re.findall(r'"([^"]+)"', mark[1]):
                named.setdefault(requirement, []).append(test[1])
    return named


def test_every_requirement_has_a_test_that_names_it():
    named = named_requirements()
    missing = [requirement for requirement in ALL if requirement not in named]
    assert not missing, f"requirements without a test: {', '.join(missing)}"


def test_no_test_names_a_requirement_that_does_not_exist():
    assert sorted(set(named_requirements()) - set(ALL)) == []
