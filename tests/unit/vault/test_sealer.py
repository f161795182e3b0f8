"""A child that seals: what it seals opens here and the other way round; without one this process seals."""

import sys

import pytest

from bridge_agent.vault import sealing
from bridge_agent.vault.sealer import ChildSealer, OwnSealer

TOKEN = "brg_" + "x1-_" * 10


async def test_what_a_child_seals_this_process_opens_and_the_other_way_round():
    key = sealing.new_key()
    sealed = await ChildSealer().seal(TOKEN, key)
    assert TOKEN not in sealed
    assert await OwnSealer().unseal(sealed, key) == TOKEN
    assert await ChildSealer().unseal(await OwnSealer().seal(TOKEN, key), key) == TOKEN


async def test_a_wrong_key_is_told_apart_from_a_child_that_failed():
    sealed = await OwnSealer().seal(TOKEN, sealing.new_key())
    with pytest.raises(sealing.SealBroken):
        await ChildSealer().unseal(sealed, sealing.new_key())


@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false"])
async def test_where_no_child_answers_this_process_seals(monkeypatch, program):
    monkeypatch.setattr(sys, "executable", program)
    key = sealing.new_key()
    sealed = await ChildSealer().seal(TOKEN, key)
    assert await ChildSealer().unseal(sealed, key) == TOKEN
