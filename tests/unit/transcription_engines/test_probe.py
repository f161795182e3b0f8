"""What this machine can compute with: tried in throw-away children, a broken GPU among them."""

import pytest

from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.errors import EngineDied
from tests.unit.transcription_engines.sounds import babble


@pytest.fixture
def a_gpu(monkeypatch):
    monkeypatch.setenv("SCRIPTED_GPUS", "1")


async def test_a_gpu_that_works_is_used(pool_of, a_gpu):
    pool = pool_of(device="cuda", processes=None)
    assert (await pool.info()).device == "cuda"
    assert pool.size == 1
    assert pool.view()["notes"] == []
    heard = await pool.transcribe(babble(4), Context())
    assert heard.engine.device == "cuda"


async def test_a_gpu_whose_library_is_missing_aborts_a_throw_away_child_and_is_noted(pool_of, a_gpu):
    pool = pool_of("scripted:library?cuda", device="cuda")
    assert (await pool.info()).device == "cpu"
    (note,) = pool.view()["notes"]
    assert note.startswith("The GPU is not used: The speech engine needs the library libcudnn_ops_infer.so.8")
    assert pool.view()["children"] == []
    heard = await pool.transcribe(babble(4), Context())
    assert (heard.rung, heard.flags) == (0, ())


async def test_a_gpu_that_is_not_there_is_noted(pool_of):
    pool = pool_of(device="cuda")
    assert (await pool.info()).device == "cpu"
    assert "asks for a GPU, but there is none" in pool.view()["notes"][0]


async def test_when_nothing_works_the_reason_is_told(pool_of):
    with pytest.raises(EngineDied, match="crashed in native code"):
        await pool_of("scripted:abort?batched", device="cuda").info()


async def test_what_was_found_is_remembered_until_the_driver_changes(pool_of, a_gpu, tmp_path, monkeypatch):
    notes = tmp_path / "engine.json"
    model = f"scripted:die@{tmp_path / 'once'}?cuda"
    assert (await pool_of(model, device="cuda", notes=notes).info()).device == "cpu"
    # Without its memory it would find the GPU working: the script dies only once.
    assert (await pool_of(model, device="cuda", notes=notes).info()).device == "cpu"
    monkeypatch.setenv("SCRIPTED_DRIVER", "551")
    assert (await pool_of(model, device="cuda", notes=notes).info()).device == "cuda"


async def test_a_gpu_that_fails_in_the_middle_leaves_its_part_to_the_processor(pool_of, a_gpu, tmp_path):
    pool = pool_of(device="cuda")
    await pool.info()
    heard = await pool.transcribe(babble(4), Context(model="scripted"))
    assert heard.flags == ()
