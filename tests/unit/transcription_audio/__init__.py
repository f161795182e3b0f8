"""Without the decoder's library there is nothing to test here; that is said loudly."""

import pytest

try:
    import av  # noqa: F401
except ImportError:
    pytest.skip("NO DECODER: install the extra speech to run these tests", allow_module_level=True)
