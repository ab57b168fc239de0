"""The pools in which places are taken, and how they are named to people."""

from dataclasses import replace
from typing import cast

from counterfoil.app.submitted import waits_for_person
from counterfoil.engine.parking import parked
from counterfoil.model.run import ParkReason, RunState
from counterfoil.model.slots import Partition, named, partition_pool, receiver_pool, waits_for_slot, workflow_pool
from counterfoil.store.port import Reader
from counterfoil.testing.conformance.samples import run_named


def test_a_pool_is_named_in_words() -> None:
    assert named(receiver_pool("stripe")) == "receiver stripe"
    assert named(workflow_pool("refund")) == "workflow refund"
    assert named(partition_pool("refund", "customer", "a:b=c")) == "refund with customer=a:b=c"


def test_what_is_held_says_for_what() -> None:
    assert waits_for_slot(receiver_pool("stripe"), 3, 3) == "Waits for a slot of receiver stripe, 3 of 3 in use."


def test_a_partition_lets_one_at_once_unless_it_says_more() -> None:
    assert (Partition("customer").concurrency, Partition("customer", concurrency=2).concurrency) == (1, 2)


class Nowhere:
    """A reader of nothing."""

    installation = None


def test_what_is_held_waits_for_nobody_though_its_review_is_answered() -> None:
    asked = replace(run_named("run_a", 1), state=RunState.WAITING, reason="review", due_at=10)
    reader = cast("Reader", Nowhere())
    assert waits_for_person(reader, asked, 5) and not waits_for_person(reader, asked, 10)
    assert not waits_for_person(reader, replace(asked, held_for=workflow_pool("refund")), 5)


def test_a_parked_run_is_held_for_nothing() -> None:
    held = replace(run_named("run_a", 1), held_for=workflow_pool("refund"))
    owner = {"name": "ana", "then": None, "within_us": 1}
    assert parked(held, ParkReason.NO_WORKER, "No worker took it.", owner, 5, None, None).held_for is None
