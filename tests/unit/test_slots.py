"""The pools in which places are taken, and how they are named to people."""

from counterfoil.model.slots import Partition, named, partition_pool, receiver_pool, waits_for_slot, workflow_pool


def test_a_pool_is_named_in_words() -> None:
    assert named(receiver_pool("stripe")) == "receiver stripe"
    assert named(workflow_pool("refund")) == "workflow refund"
    assert named(partition_pool("refund", "customer", "a:b=c")) == "refund with customer=a:b=c"


def test_what_is_held_says_for_what() -> None:
    assert waits_for_slot(receiver_pool("stripe"), 3, 3) == "Waits for a slot of receiver stripe, 3 of 3 in use."


def test_a_partition_lets_one_at_once_unless_it_says_more() -> None:
    assert (Partition("customer").concurrency, Partition("customer", concurrency=2).concurrency) == (1, 2)
