"""From a drill that was played to what the gate registers: what it speaks for, and what of it was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from counterfoil.drills.case import Planned
from counterfoil.drills.faults import FAULTS
from counterfoil.drills.learning import Learned
from counterfoil.drills.plan import planned_of
from counterfoil.drills.target import Target
from counterfoil.model.drill import Covered, PlayedCase, Rehearsal
from counterfoil.model.errors import Refused


def rehearsal_of(
    target: Target, learned: Sequence[Learned], cases: Sequence[Mapping[str, Any]], seed: int
) -> Rehearsal:
    """`cases`: CASE of each that was played. `app.drills.register(...)` takes what this gives, and judges it."""
    played = {str(case["case_id"]) for case in cases}
    return Rehearsal(
        target=target.text,
        target_digest=target.digest,
        seed=seed,
        covers=covered_by(learned),
        cases=tuple(_played(case) for case in cases),
        left_out=tuple(case.case_id for case in whole(learned) if case.case_id not in played),
    )


def covered_by(learned: Sequence[Learned]) -> tuple[Covered, ...]:
    """Each operation that a clean run performed, as this version of its workflow performs it."""
    found = {
        Covered(operation.name, operation.contract_digest, each.workflow, each.version): None
        for each in learned
        for operation in each.operations
    }
    return tuple(found)


def whole(learned: Sequence[Learned]) -> list[Planned]:
    """What a whole drill plays: every case of the plan, and of each fault that all scenarios of a workflow leave out, all.

    A scenario may leave faults to another of its workflow; what nobody plays is missing.
    """
    planned = planned_of(learned)
    planned_faults = {(case.workflow, case.fault) for case in planned}
    every = planned_of([replace(each, scenario=replace(each.scenario, only=None)) for each in learned])
    return [*planned, *(case for case in every if (case.workflow, case.fault) not in planned_faults)]


def check_whole(learned: Sequence[Learned], cases: Sequence[Planned], target: Target) -> None:
    """Before a long drill is played for nothing. Raises Refused(drill_not_passed) where cases are left out."""
    chosen = {case.case_id for case in cases}
    missing = [case for case in whole(learned) if case.case_id not in chosen]
    if missing:
        faults = ", ".join(dict.fromkeys(case.fault for case in missing))
        problem = f"it is not whole: {len(missing)} of its cases would not be played, of the faults {faults}"
        raise Refused("drill_not_passed", target=target.text, problem=problem)


def _played(case: Mapping[str, Any]) -> PlayedCase:
    fault = FAULTS.get(str(case["fault"]))
    return PlayedCase(case["case_id"], case["fault"], case["verdict"], None if fault is None else fault.not_built)
