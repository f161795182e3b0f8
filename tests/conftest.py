"""What all tests share."""

import pytest

from tests.fakes.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    """Time that a test moves."""
    return FakeClock()
