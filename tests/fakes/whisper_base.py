"""The real Whisper base model for slow tests and the demo, fetched once into a cache folder."""

import os
from pathlib import Path

import platformdirs

from bridge_agent.transcription.models import sample_weights


def cache() -> Path:
    """Where it is kept: BRIDGE_TEST_MODELS, or this user's cache."""
    named = os.environ.get("BRIDGE_TEST_MODELS")
    return Path(named) if named else Path(platformdirs.user_cache_dir("bridge-agent-tests", appauthor=False))


def model_folder() -> Path:
    """Return the model's folder, fetching it at the first call."""
    return sample_weights.fetch(cache())
