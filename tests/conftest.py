"""What all tests share: a clock to move, and the rule that a missing browser is never passed over quietly."""

import os
import shutil

import pytest

from tests.fakes.clock import FakeClock

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture
def clock() -> FakeClock:
    """Time that a test moves."""
    return FakeClock()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip browser tests where there is no browser; where one is demanded, let them run and fail."""
    if any(map(shutil.which, BROWSERS)) or os.environ.get("BRIDGE_TESTS_NEED_BROWSER"):
        return
    for item in items:
        if "browser" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="NO BROWSER: install chromium to run this test"))
