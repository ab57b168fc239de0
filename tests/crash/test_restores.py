"""A database that is older than what was sent from it, or another one: recognised, and nothing is sent until a person says so."""

import shutil
from collections.abc import Callable

import pytest

from counterfoil.model.installation import InstallationRecord
from counterfoil.model.operation import OperationStatus
from counterfoil.model.run import RunState
from counterfoil.testing.case_ledger import CaseLedger
from tests.crash.stage import Stage, verified
from tests.crash.test_freeze import OPERATIONS, RECEIVERS

# How far the run had come when the backup was made: its operation not derived yet, prepared, or in flight.
HEADS = ["step.ended", "operation.prepared", "operation.in_flight"]


def restore_content(stage: Stage, kept: CaseLedger) -> None:
    """What the database holds, over what is there: its files, or its rows."""
    stage.ledger.put_back(kept, whole=False)


def restore_whole(stage: Stage, kept: CaseLedger) -> None:
    """The whole folder of the database anew, or its whole schema; the outside marker lies elsewhere."""
    stage.ledger.put_back(kept, whole=True)


def restore_with_lost_state(stage: Stage, kept: CaseLedger) -> None:
    """A new machine: all of it from the backup, and no state folder."""
    restore_whole(stage, kept)
    shutil.rmtree(stage.folder / "state")
    (stage.folder / "state").mkdir()


RESTORES = {"file": restore_content, "folder": restore_whole, "lost_state": restore_with_lost_state}
RECOGNISED = {"file": "behind", "folder": "behind", "lost_state": "missing"}


def suspended(stage: Stage, workflow: str, expected: str) -> str:
    """A worker comes as far as it can without sending; asking goes on. Gives what the comparison said."""
    writes = len(stage.writes(RECEIVERS[workflow]))
    stage.start("works", workflow=workflow, skip=True).wait()
    run = stage.run(workflow)
    assert expected == (run.reason or run.state), (run.state, run.reason)
    assert len(stage.writes(RECEIVERS[workflow])) == writes, "sending is suspended"
    (installation,) = stage.rows(InstallationRecord)
    assert installation.restore_state == "open"
    return str(installation.restore_reason)


# Only another send could tell; the lookup tells; nothing can tell.
WHILE_SUSPENDED = {"single": "restored", "single_lookup": "completed", "single_none": "outcome_unknown"}


@pytest.mark.parametrize("how", list(RESTORES))
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("workflow", list(RECEIVERS))
def test_a_restored_database_sends_nothing_twice(workflow: str, head: str, how: str, stage: Stage) -> None:
    stage.quiet()
    stage.dies(head, workflow=workflow)
    kept = stage.ledger.back_up()
    stage.lives(workflow=workflow)  # what the backup does not know
    records = stage.records(RECEIVERS[workflow])
    assert len(records) == 1
    put_back: Callable[[Stage, CaseLedger], None] = RESTORES[how]
    put_back(stage, kept)

    assert suspended(stage, workflow, WHILE_SUSPENDED[workflow]) == RECOGNISED[how]
    stage.lives("finishes", finish_as="restored")
    stage.start("works", workflow=workflow, skip=True).wait_said("parked" if workflow == "single_none" else "completed")
    assert stage.records(RECEIVERS[workflow]) == records
    stage.check_record()
    if workflow == "single_none":
        assert stage.run(workflow).reason == "outcome_unknown"
        assert stage.operations()[OPERATIONS[workflow]].status is OperationStatus.UNKNOWN


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("workflow", list(RECEIVERS))
def test_a_copy_opened_elsewhere_never_sends_what_its_original_prepared(workflow: str, head: str, stage: Stage) -> None:
    stage.quiet()
    stage.dies(head, workflow=workflow)
    original, copy = stage.ledger, stage.ledger.copied()

    stage.ledger = copy
    absent = "restored" if workflow == "single" else "outcome_unknown"
    assert suspended(stage, workflow, absent) == "copied"
    stage.ledger = original
    stage.lives(workflow=workflow)  # the original goes on undisturbed
    assert stage.run(workflow).state is RunState.COMPLETED

    stage.ledger = copy
    stage.lives("finishes", finish_as="clone")
    stage.start("works", workflow=workflow, skip=True).wait_said(
        "completed" if workflow == "single_lookup" else "parked"
    )
    assert len(stage.writes(RECEIVERS[workflow])) == len(stage.records(RECEIVERS[workflow])) == 1
    stage.check_record()
    found = workflow == "single_lookup"
    for ledger in (original, copy):  # neither disturbs the other: each has a marker of its own by now
        stage.ledger = ledger
        ends = "completed" if found or ledger is original else "parked"
        stage.start("works", workflow=workflow, skip=True).wait_said(ends)
        assert verified(stage)["sound"]
        (installation,) = stage.rows(InstallationRecord)
        assert installation.restore_state == (None if ledger is original else "finished")
    assert stage.operations()[OPERATIONS[workflow]].status is (
        OperationStatus.SUCCEEDED if found else OperationStatus.UNKNOWN
    )


def test_a_moved_database_goes_on_when_a_person_says_so(stage: Stage) -> None:
    stage.quiet()
    stage.dies("operation.prepared", workflow="single")
    stage.ledger = stage.ledger.moved()
    assert suspended(stage, "single", "restored") == "moved"
    stage.lives("finishes", finish_as="moved")
    stage.start("works", workflow="single", skip=True).wait_said("completed")
    assert len(stage.records("key")) == 1
    stage.check_record()
