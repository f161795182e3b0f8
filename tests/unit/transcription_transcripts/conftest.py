import pytest

from bridge_agent.transcription.transcripts import open_transcripts
from tests.fakes.clock import FakeClock


@pytest.fixture
async def transcripts(tmp_path):
    opened = await open_transcripts(tmp_path, FakeClock())
    yield opened
    await opened.close()
