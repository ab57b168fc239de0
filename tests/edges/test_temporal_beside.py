"""Branches of one run, and a call that comes late: what the others wait for is read in the ledger, not in an old picture."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.engine.waits import StoreSignal
from counterfoil.integrations.temporal.hand import Hand
from counterfoil.integrations.temporal.messages import Call, Said, Wait
from counterfoil.model.run import RunRecord
from tests.edges.temporal_bench import Bench, benched
from tests.edges.test_temporal_hand import Cluster, hand_at, row, step_of, stored, until

HOUR_US = 3_600_000_000


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with benched(tmp_path, monkeypatch) as bench:
        yield bench


def hears(run: RunRecord, **more: Any) -> Call:
    """The call of another branch, which waits for somebody's word."""
    given = {"signal": "go", "type": "tests.edges.temporal_app:Go", "within_us": HOUR_US}
    return Call("wait_for", run.run_id, 0, "gather#1.1/wait_for go#", 1, run.created_at, given, **more)


async def waits(hand: Hand, run: RunRecord) -> tuple[Wait, int]:
    """The other branch has asked, and waits. Gives what its workflow knows of it."""
    said: Said = await hand.carry_out(hears(run), "one")
    assert said.state == "waits" and said.wait is not None
    return said.wait, said.heard


async def speaks(hand: Hand, run: RunRecord) -> None:
    await hand.opened.write(StoreSignal(run.run_id, "word", "go", '{"word":"on"}'))


def test_what_arrived_before_a_claim_is_not_forgotten_by_it(bench: Bench) -> None:
    """The other branch is told of it, though the call that came in between has written what the run waits for."""

    async def story() -> None:
        cluster = Cluster(there=True)
        async with hand_at(cluster) as hand:
            run = await stored()
            standing, heard = await waits(hand, run)
            await speaks(hand, run)
            assert (await hand.carry_out(step_of(run, others=[standing], heard=heard), "one")).state == "done"
            told = len(cluster.asked)
            await until(lambda: len(cluster.asked) > told)
            assert row(run.run_id).reason == "signal"

    asyncio.run(story())


def test_what_was_answered_meanwhile_is_waited_for_no_more(bench: Bench) -> None:
    async def story() -> None:
        async with hand_at(Cluster(there=True)) as hand:
            run = await stored()
            standing, heard = await waits(hand, run)
            await speaks(hand, run)
            assert (await hand.carry_out(hears(run), "one")).state == "done"
            assert (await hand.carry_out(step_of(run, others=[standing], heard=heard), "one")).state == "done"
            now = row(run.run_id)
            assert (now.state, now.reason) == ("pending", None)
            assert (now.deadline_at or 0) < (standing.deadline_at or 0), "its deadline went with it"

    asyncio.run(story())


def test_what_another_branch_began_to_wait_for_meanwhile_is_kept(bench: Bench) -> None:
    """This call was asked for before the other one was answered: its workflow knew nothing of a wait."""

    async def story() -> None:
        async with hand_at(Cluster(there=True)) as hand:
            run = await stored()
            standing, _ = await waits(hand, run)
            await hand.carry_out(step_of(run), "one")
            now = row(run.run_id)
            assert (now.state, now.reason, now.deadline_at) == ("waiting", "signal", standing.deadline_at)

    asyncio.run(story())


def test_what_a_branch_gave_up_is_waited_for_no_more(bench: Bench) -> None:
    """The workflow has heard of the wait and names it no more: its branch was cancelled."""

    async def story() -> None:
        async with hand_at(Cluster(there=True)) as hand:
            run = await stored()
            _, heard = await waits(hand, run)
            await hand.carry_out(step_of(run, heard=heard), "one")
            assert row(run.run_id).state == "pending"

    asyncio.run(story())


def test_a_branch_that_has_not_looked_since_the_run_was_parked_is_told(bench: Bench) -> None:
    """What it had heard is the park, which is over: nothing of it is shown, and its workflow looks again."""

    async def story() -> None:
        cluster = Cluster(there=True)
        async with hand_at(cluster) as hand:
            run = await stored()
            standing, heard = await waits(hand, run)
            park = Wait("parked", run.run_id, 0, None, 1, "It was parked.", "desk", None, "gather#1.2/step#1")
            await hand.carry_out(step_of(run, others=[standing, park], heard=heard), "one")
            await until(lambda: bool(cluster.asked))
            now = row(run.run_id)
            assert (now.state, now.reason, now.deadline_at) == ("waiting", "signal", standing.deadline_at)

    asyncio.run(story())
