"""Playing: children are really killed, recovered by new ones, and judged by what the receiver holds."""

import signal
from typing import Any

import pytest

from counterfoil import Refused
from counterfoil.drills.case import Planned
from counterfoil.drills.derived import completed, derived
from counterfoil.drills.faults import FAULTS
from counterfoil.drills.plan import planned_of, wanted
from counterfoil.drills.target import Target
from tests.drills.conftest import Played
from tests.drills.core_workflows import app


def played(core: Played, workflow: str, *ids: str) -> list[dict[str, Any]]:
    ensemble, learned = core
    by_id = {case.case_id: case for case in planned_of([learned[workflow]])}
    return ensemble.play([by_id[f"{workflow}/{id_}"] for id_ in ids], [learned[workflow]])


def test_a_workflow_is_learned_and_drilled_with_nothing_declared(core: Played) -> None:
    write = core[1]["write"]
    assert (write.version, write.steps, write.reviews) == (3, ("weigh",), 0)
    (file,) = write.operations
    assert (file.name, file.receiver, file.key, file.lookup, file.reviewed) == ("file", "desk", True, False, False)
    passed = {each.text: each.about for each in write.passed}
    assert passed["operation.first_byte#1"] == "file" and passed["step.ended#1"] == "weigh"
    cases = {case.case_id for case in planned_of([write])}
    assert {f"write/{boundary}/{fault}" for boundary in passed for fault in ("kill-before", "kill-after")} <= cases
    before, after = played(core, "write", "operation.first_byte#1/kill-before", "operation.replied#1/kill-after")
    for case in (before, after):
        assert (case["verdict"], case["outcome"], case["reasons"]) == ("pass", "succeeded", [])
        assert case["applied"]["proof"]["wait_status"] == signal.SIGKILL
        assert case["receiver"]["records"] == 1 and case["receiver"]["unledgered_writes"] == 0
        assert case["approval_bound"] is None, "nobody was asked"
    assert (before["attempts"], after["attempts"]) == (2, 2)
    assert before["run_id"] != after["run_id"], "each in a database of its own"


def test_a_boundary_that_is_not_reached_fails(core: Played) -> None:
    ensemble, learned = core
    never = Planned(workflow="write", boundary="operation.replied#7", fault="kill-after")
    (case,) = ensemble.play([never], [learned["write"]])
    assert case["verdict"] == "fail" and case["reasons"][0].startswith("not_applied: ")


def test_a_step_that_always_fails_ends_with_its_owner(core: Played) -> None:
    (case,) = played(core, "write", "step.ended#1/step-always-fails")
    assert (case["verdict"], case["outcome"], case["owner"], case["visible"]) == ("pass", "unresolved", "lead", True)
    assert case["applied"]["proof"]["tries"] == 3 and case["applied"]["proof"]["tried_again"] == 0
    assert case["receiver"]["records"] == 0 and case["next_action"]["command"]


def test_a_careless_workflow_fails(core: Played) -> None:
    """The tool is seen to detect: the same fault, a workflow that sends in a step."""
    (case,) = played(core, "careless", "step.ended#1/kill-before")
    assert case["verdict"] == "fail" and case["receiver"]["records"] == 2
    assert {reason.partition(":")[0] for reason in case["reasons"]} == {"duplicate_records", "unledgered_writes"}
    assert case["receiver"]["unledgered_writes"] == 2


def test_somebody_sends_the_signal_of_the_scenario(core: Played) -> None:
    assert "signal.received#1" in {each.text for each in core[1]["remind"].passed}
    (case,) = played(core, "remind", "signal.stored#1/kill-before")
    assert (case["verdict"], case["outcome"], case["receiver"]["records"]) == ("pass", "succeeded", 1)


def test_what_cannot_be_derived_says_what_to_declare(core: Played) -> None:
    with pytest.raises(Refused) as refused:
        Target.of(app, "sorted_out", text="core:sorted_out")
    assert refused.value.code == "drill_undeclared"
    assert "Scenario(workflow='sorted_out', input" in refused.value.safe_next
    with pytest.raises(Refused) as refused:
        core[0].players[0].learn(completed(app, derived(app.registry.newest("choosy"), 0)))
    assert refused.value.code == "drill_not_clean" and "nobody knows" in refused.value.message
    with pytest.raises(Refused) as refused:
        Target.of(app, "nobody", text="core:nobody")
    assert refused.value.code == "unknown_workflow"


def test_only_what_is_wanted(core: Played) -> None:
    cases = planned_of(core[1].values())
    assert len({case.case_id for case in cases}) == len(cases)
    assert [case.name for case in wanted(cases, "receipt-saved")] == ["receipt-saved"] * 2, "of two workflows that send"
    assert {case.fault for case in wanted(cases, "write/*/kill-before")} == {"kill-before"}
    assert wanted(cases, "named") == [case for case in cases if case.name is not None]
    with pytest.raises(Refused) as refused:
        wanted(cases, "nothing*")
    assert refused.value.code == "usage" and refused.value.exit_status == 2


# The faults that wait for another issue: what shows that it has come. Then its number must go, and the fault be played.
COMES_WITH = {"8": lambda commands: "archive" in {words.partition(" ")[0] for words in commands}}


def test_a_fault_is_not_run_only_while_its_feature_is_missing() -> None:
    from counterfoil.cli.command import DECLARED
    from counterfoil.cli.tree import root

    root()
    waiting = [fault for fault in FAULTS.values() if fault.not_built is not None]
    assert not [fault.name for fault in waiting if COMES_WITH[fault.not_built or ""](set(DECLARED))]
