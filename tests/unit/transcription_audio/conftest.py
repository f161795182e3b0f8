"""Without the decoder's library there is nothing to test here; that is said loudly."""

import importlib.util

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("av") is not None:
        return
    for item in items:
        if "transcription_audio" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason="NO DECODER: install the extra speech to run this test"))
