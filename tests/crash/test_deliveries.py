"""A process that takes in a receiver's message is killed at each of its commits: it is lost before the answer, or counts once."""

import pytest

from counterfoil.model.delivery import DeliveryRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.receipt import ReceiptRecord
from tests.crash.stage import Stage, verified

ENVIRON = {"MAIL_WEBHOOK": "whsec_c3RhbmRhcmQgc2VjcmV0"}
# Killed at a commit: whether it was answered by then, and how far the message came.
KILLED = {
    "before:installation.changed": (False, None),
    "installation.changed": (False, "stored"),
    "before:operation.resolved": (True, "stored"),
    "operation.resolved": (True, "matched"),
}


@pytest.mark.parametrize("at", KILLED)
def test_killed_between_store_and_match(at: str, stage: Stage) -> None:
    stage.quiet()
    stage.receivers["none"].fault("drop-reply")
    stage.start("works", workflow="single_none", skip=True).wait()
    assert stage.run("single_none").reason == "outcome_unknown"
    (operation,) = stage.rows(OperationRecord)
    answered, came = KILLED[at]

    dead = stage.dies(at, "tests.crash.delivering:takes", operation=operation.operation_id, environ=ENVIRON)
    assert any("answered" in said for said in dead.said if isinstance(said, dict)) is answered
    assert [row.state.value for row in stage.rows(DeliveryRecord)] == ([] if came is None else [came])

    stage.lives("tests.crash.delivering:tends", environ=ENVIRON)
    if came is None:  # nobody was answered, so the receiver sends it again
        stage.lives("tests.crash.delivering:takes", operation=operation.operation_id, environ=ENVIRON)
    # And it may send it again in any case.
    stage.lives("tests.crash.delivering:takes", operation=operation.operation_id, environ=ENVIRON)

    (row,) = stage.rows(DeliveryRecord)
    (receipt,) = stage.rows(ReceiptRecord)
    assert (row.state.value, row.operation_id, row.receipt_id) == (
        "matched",
        operation.operation_id,
        receipt.receipt_id,
    )
    (closed,) = stage.rows(OperationRecord)
    assert (closed.status.value, closed.case_letter, receipt.how) == ("succeeded", "E", "webhook")
    stage.lives("works", workflow="single_none", skip=True)
    assert stage.run("single_none").state == "completed" and len(stage.writes("none")) == 1
    assert verified(stage)["sound"]
