"""What the tests of the pipeline share."""

from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.pipeline import Rig


@pytest.fixture
def rig(tmp_path: Path, clock: FakeClock) -> Rig:
    """A pipeline on stand-ins."""
    return Rig(tmp_path, clock)
