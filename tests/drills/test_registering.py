"""What a played drill becomes at the gate: whole or not, and what it speaks for."""

from dataclasses import replace
from typing import Any, cast

import pytest

from counterfoil.drills.faults import FAULTS
from counterfoil.drills.learning import Learned, LearnedOperation, Passed
from counterfoil.drills.plan import planned_of
from counterfoil.drills.registering import check_whole, covered_by, rehearsal_of, whole
from counterfoil.drills.scenario import Scenario
from counterfoil.drills.target import Target
from counterfoil.model.drill import Covered
from counterfoil.model.errors import Refused
from counterfoil.rules.gate import why_not
from tests.engine.writes import contract

NAMES = (
    "run.submitted",
    "run.claimed",
    "operation.prepared",
    "operation.in_flight",
    "operation.first_byte",
    "operation.replied",
)
NAMES += ("operation.classified", "run.finished")
DIGEST = contract("key").digest()


class Named:
    """As much of a Target as is asked for."""

    text, digest = "app:refund", "sha256:aa"


TARGET = cast("Target", Named())


def learned(**scenario: Any) -> Learned:
    operation = LearnedOperation(
        name="create_case", receiver="crm", kind="key", contract=contract("key"), contract_digest=DIGEST, reviewed=False,
        business_key=True,
    )  # fmt: skip
    played = Scenario(workflow="refund", input={"n": 1}, other_input={"n": 2}, **scenario)
    passed = tuple(Passed(name, 1, "commit", "create_case" if "operation" in name else None) for name in NAMES)
    return Learned(
        workflow="refund", version=3, scenario=played, several="name" in scenario, passed=passed, operations=(operation,),
        reviews=0, steps=(), seconds=0.1, seen=cast("Any", None),
    )  # fmt: skip


def played(of: list[Learned], verdict: str = "pass") -> list[dict[str, Any]]:
    return [{"case_id": case.case_id, "fault": case.fault, "verdict": verdict} for case in planned_of(of)]


def test_a_whole_drill_speaks_for_each_operation_and_version() -> None:
    of = [learned()]
    rehearsal = rehearsal_of(TARGET, of, played(of), seed=7)
    assert rehearsal.covers == covered_by(of) == (Covered("create_case", DIGEST, "refund", 3),)
    assert (rehearsal.left_out, rehearsal.seed, rehearsal.target_digest) == ((), 7, "sha256:aa")
    assert why_not(rehearsal) is None
    check_whole(of, planned_of(of), TARGET)


def test_a_part_of_it_does_not_and_says_which_faults_are_missing() -> None:
    of = [learned()]
    part = [case for case in planned_of(of) if case.fault == "kill-after"]
    with pytest.raises(Refused, match="drop-reply") as refused:
        check_whole(of, part, TARGET)
    assert refused.value.code == "drill_not_passed"
    cases = [case for case in played(of) if case["fault"] == "kill-after"]
    assert "it is not whole" in str(why_not(rehearsal_of(TARGET, of, cases, seed=0)))


def test_a_scenario_may_leave_a_fault_to_another_but_not_to_nobody() -> None:
    kills = learned(name="kills", only=("kill-*",))
    others = learned(name="others", only=tuple(name for name in FAULTS if not name.startswith("kill-")))
    both = [kills, others]
    assert {case.case_id for case in whole(both)} == {case.case_id for case in planned_of(both)}
    alone = [kills]
    assert {case.fault for case in whole(alone)} > {case.fault for case in planned_of(alone)}
    with pytest.raises(Refused):
        check_whole(alone, planned_of(alone), TARGET)


def test_one_failure_is_enough() -> None:
    of = [learned()]
    cases = played(of)
    cases[-1]["verdict"] = "fail"
    assert cases[-1]["case_id"] in str(why_not(rehearsal_of(TARGET, of, cases, seed=0)))


def test_what_is_not_built_does_not_hinder_and_what_was_skipped_does() -> None:
    of = [learned()]
    cases = played(of)
    later = [case for case in cases if FAULTS[case["fault"]].not_built]
    for case in later:
        case["verdict"] = "not_run"
    rehearsal = rehearsal_of(TARGET, of, cases, seed=0)
    assert why_not(rehearsal) is None
    skipped = tuple(replace(case, verdict="not_run") if case.fault == "hang" else case for case in rehearsal.cases)
    assert "it is not whole" in str(why_not(replace(rehearsal, cases=skipped)))
