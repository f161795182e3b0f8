"""A start with a pairing that is kept: the vault may be late, or the token gone."""

import pytest

from bridge_agent.link import words
from bridge_agent.vault import VaultNotReady
from tests.fakes.server import SERVER_ID, until


async def paired_then_stopped(rigs, clock, server):
    rig = await rigs(clock).start()
    await rig.pair(server)
    await rig.stop()


@pytest.mark.requirement("R-014")
async def test_a_restart_takes_up_the_link_without_pairing(server, rigs, clock):
    await paired_then_stopped(rigs, clock, server)
    again = await rigs(clock).start()
    assert again.link.state == "connecting"
    assert again.link.reason == words.CONNECTING
    await until(lambda: again.link.online)
    assert again.ear.heard == [f"ready {SERVER_ID}"]
    assert len(server.of("pair")) == 1


async def test_a_vault_that_is_late_is_waited_for_and_never_reads_as_unpaired(server, rigs, clock):
    await paired_then_stopped(rigs, clock, server)
    rig = rigs(clock)
    good, asked = rig.vault.load, []

    async def late():
        asked.append(clock.monotonic())
        if len(asked) < 5:
            raise VaultNotReady("The keyring is locked; unlock it, and the Bridge carries on by itself.")
        return await good()

    rig.vault.load = late
    await rig.start()
    for tries in range(1, 5):
        await until(lambda tries=tries: len(asked) == tries and "locked" in rig.link.reason)
        assert rig.link.state == "connecting"
        assert rig.link.server_id == SERVER_ID
        assert "locked" in rig.line("heartbeat")
        await until(lambda: rig.link.next_try_at is not None)
        await clock.advance((rig.link.next_try_at - clock.now()).total_seconds() + 0.01)
    await until(lambda: rig.link.online)
    assert len(server.of("pair")) == 1


async def test_a_token_that_is_gone_leaves_the_bridge_unpaired_and_free_to_pair(server, rigs, clock):
    await paired_then_stopped(rigs, clock, server)
    rig = rigs(clock)
    (rig.folder / "secrets" / "token.key").unlink()
    await rig.start()
    await until(lambda: rig.link.state == "unpaired")
    assert rig.link.reason == words.LOST
    assert rig.ear.changes > 0
    await rig.pair(server)


async def test_a_second_unpairing_is_harmless(server, rigs, clock):
    rig = await rigs(clock).start()
    await rig.link.unpair()
    await rig.pair(server)
    await rig.link.unpair()
    await rig.link.unpair()
    assert rig.link.state == "unpaired"
    await rig.stop()
    again = await rigs(clock).start()
    assert again.link.reason == words.UNPAIRED


async def test_a_listener_that_fails_keeps_nobody_else_from_hearing(server, rigs, clock):
    class Deaf:
        def link_ready(self, server_id):
            raise RuntimeError("no")

        link_down = link_changed = link_ready

    rig = await rigs(clock).start()
    rig.link.listeners.insert(0, Deaf())
    rig.link.listeners[0].link_changed = lambda: 1 / 0
    await rig.pair(server)
    assert rig.ear.heard == [f"ready {SERVER_ID}"]
