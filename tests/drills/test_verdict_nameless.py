"""Writes that carry neither our reference nor a key, as a client of a vendor's makes them: what the verdict makes of them."""

from typing import Any

from counterfoil.drills.verdict import judge
from tests.drills import judged as made

BARE = {"reference": None, "key": None}
ONE = made.RECORD | BARE
OTHER = ONE | {"id": "re-2"}
RANDOM = OTHER | {"payload_digest": made.OTHER}
WROTE = made.WRITE | BARE
TWICE = made.WRITE | BARE | {"record_id": "re-2"}
TWO_TRIES = [made.attempt(), made.attempt(attempt_id="att_2", n=2)]


def reasons(**spoilt: Any) -> set[str]:
    return {reason.partition(":")[0] for reason in judge(made.evidence(**spoilt)).reasons}


def test_one_record_is_told_by_its_receipt() -> None:
    assert reasons(records=[ONE], writes=[WROTE]) == set()


def test_a_receipt_that_names_another_field_than_the_id_is_none_the_less_its() -> None:
    assert reasons(records=[ONE | {"id": "by-its-number"}], writes=[WROTE | {"record_id": "by-its-number"}]) == set()


def test_of_two_records_a_receipt_tells_one_and_the_other_is_not_overlooked() -> None:
    for second in (OTHER, RANDOM):
        assert reasons(records=[ONE, second], writes=[WROTE, TWICE], attempts=TWO_TRIES) == {"duplicate_records"}


def test_two_operations_of_which_one_is_in_doubt() -> None:
    """One record is known by its receipt, the other may be the other's: nothing is wrong. A third one is."""
    unknown = made.operation(
        operation_id="op_2", number=2, status="unknown", receipts=[], business_key="R-2", next_action=made.RESOLVE
    )
    both: dict[str, Any] = {
        "operations": [made.operation(), unknown], "runs": [made.parked()], "inbox": [{"run_id": "run_1"}],
        "contract": made.BLIND, "attempts": [made.attempt(), made.attempt(attempt_id="att_2", operation_id="op_2")],
    }  # fmt: skip
    assert reasons(records=[ONE, OTHER], writes=[WROTE, TWICE], **both) == set()
    third = RANDOM | {"id": "re-3"}
    assert "duplicate_records" in reasons(records=[ONE, OTHER, third], writes=[WROTE, TWICE], **both)


def test_a_try_that_sent_nothing_does_not_explain_a_write_of_somebody_else() -> None:
    """The operation carries its key, so what carries none is not its, however many tries it had."""
    stray = {"reference": None, "key": None, "record_id": "re-9"}
    assert reasons(writes=[made.WRITE, stray], attempts=TWO_TRIES) == {"unledgered_writes"}


def test_who_waits_for_a_child_is_seen_where_the_child_is() -> None:
    child = made.parked("outcome_unknown", run_id="run_2", number=2, workflow="kid", request_id="kid")
    pending = [{"kind": "child", "id": "run_2"}]
    parent = made.parked("child", state="waiting", pending=pending)
    seen: dict[str, Any] = {"runs": [parent, child], "applied": {"ends": None}}
    assert reasons(inbox=[{"run_id": "run_2"}], **seen) == set()
    assert reasons(inbox=[], **seen) == {"not_visible"}
