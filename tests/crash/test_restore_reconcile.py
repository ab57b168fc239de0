"""A restored ledger is reconciled, killed in the middle, and goes on: one record at the receiver, or a doubt that is seen."""

import pytest

from counterfoil.model.operation import OperationStatus
from counterfoil.model.receipt import LookupRecord
from tests.crash.stage import Stage
from tests.crash.test_freeze import OPERATIONS, RECEIVERS
from tests.crash.test_restores import HEADS, restore_content

BOUNDARY = {"single": "operation.advanced", "single_lookup": "operation.looked_up", "single_none": "operation.advanced"}


@pytest.mark.parametrize("head", ["operation.prepared", "operation.in_flight"])
@pytest.mark.parametrize("workflow", list(RECEIVERS))
def test_killed_while_it_reconciles_it_goes_on_where_the_record_says(workflow: str, head: str, stage: Stage) -> None:
    assert head in HEADS
    stage.quiet()
    stage.dies(head, workflow=workflow)
    kept = stage.ledger.back_up()
    stage.lives(workflow=workflow)  # what the backup does not know
    records = stage.records(RECEIVERS[workflow])
    writes = len(stage.writes(RECEIVERS[workflow]))
    restore_content(stage, kept)

    stage.dies(BOUNDARY[workflow], function="reconciles")
    asked = len(stage.rows(LookupRecord))
    assert asked == (1 if workflow == "single_lookup" else 0), "what was asked before it was killed is kept"
    stage.lives("reconciles")
    assert len(stage.rows(LookupRecord)) == asked, "and is not asked again"
    assert len(stage.writes(RECEIVERS[workflow])) == writes, "nothing is sent but lookups"
    operation = stage.operations()[OPERATIONS[workflow]]
    assert (operation.status is OperationStatus.SUCCEEDED) == (workflow == "single_lookup")
    if workflow != "single_lookup":
        run = stage.run(workflow)
        assert run.state.value == "parked" and run.owner and run.deadline_at, (run.state, run.reason)

    stage.lives("finishes", finish_as="restored")
    ends = "parked" if workflow == "single_none" else "completed"
    stage.start("works", workflow=workflow, skip=True).wait_said(ends)
    assert stage.records(RECEIVERS[workflow]) == records and len(records) == 1
    stage.check_record()
