"""Faults of delivery: the same input comes twice at once, or a known request id comes again, with the same or other content."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.acting import MODULE
from counterfoil.drills.faults.holding import ended, entries, rows, stopped, wait_stopped
from counterfoil.drills.faults.saying import said
from counterfoil.drills.learning import Learned, Passed
from counterfoil.drills.stage import Stage
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord
from counterfoil.testing.children import Child

TWICE, SAME, OTHER = "two-deliveries", "resubmit-same", "resubmit-other"
OTHER_ID = "drill-again"
MEET, BESIDE, SUBMIT = f"{MODULE}:meet", f"{MODULE}:live_beside_another", f"{MODULE}:submit_again"


# ---------------------------------------------------------------------- where they apply


def twice(learned: Learned) -> Iterator[Planned]:
    """Once under one request id, and once under two where an operation has a business key."""
    for passed in learned.at("run.submitted"):
        if passed.hit == 1:
            yield learned.planned(passed, TWICE)
    for passed in learned.at("operation.prepared"):
        operation = learned.operation_of(passed)
        if operation is not None and operation.business_key:
            yield replace(learned.planned(passed, TWICE), variant="other-id")
            return  # a later one waits for this one


def again_same(learned: Learned) -> Iterator[Planned]:
    """After the end, and after a crash in the middle."""
    return (learned.planned(passed, SAME) for passed in _end_and_middle(learned))


def again_other(learned: Learned) -> Iterator[Planned]:
    """As the same; not where no other content is declared and none can be made of the input."""
    if other_of(learned.scenario.input, learned.scenario.other_input) is None:
        return
    for passed in _end_and_middle(learned):
        yield learned.planned(passed, OTHER)


def _end_and_middle(learned: Learned) -> Iterator[Passed]:
    yield from learned.at("run.finished")
    middle = list(learned.at("operation.replied")) or list(learned.at("step.ended"))
    yield from middle[:1]


def other_of(given: Any, declared: Any) -> Any:
    """Other content for the same request id: what is declared, else the input with one word or number changed; None: nothing."""
    if declared is not None:
        return declared
    if not isinstance(given, dict):
        return None
    fields = cast("dict[str, Any]", given)
    for name, value in fields.items():
        if isinstance(value, int) and not isinstance(value, bool):
            return fields | {name: value + 1}
    for name, value in fields.items():
        if isinstance(value, str) and value:
            return fields | {name: f"{value}-other"}
    return None


# ---------------------------------------------------------------------- two at once


def delivered_twice(stage: Stage, planned: Planned) -> Applied:
    """Two processes, each with a worker, both standing still at the same place before either goes on."""
    return _under_two_ids(stage, planned) if planned.variant == "other-id" else _under_one_id(stage, planned)


def _under_one_id(stage: Stage, planned: Planned) -> Applied:
    stage.lives("counterfoil.drills.faults.acting:found")
    both = [stage.start(MEET), stage.start(MEET)]
    proof = _met(both)
    wrong = _go_on(both)
    told = [said(child) for child in both]
    admitted = sorted(str(each.get("admitted")) for each in told)
    if admitted != ["existing", "new"] or len({each.get("run_id") for each in told}) != 1:
        wrong.append(f"Two deliveries under one request id were told {told}.")
    wrong += ended(stage.start())
    return Applied(at=stage.now(), proof=proof | {"told": told}, wrong=tuple(wrong))


def _under_two_ids(stage: Stage, planned: Planned) -> Applied:
    ids = (stage.request_id, OTHER_ID)
    both = [stopped(stage, planned.boundary, BESIDE, request_id=request_id) for request_id in ids]
    proof = _met(both)
    keys = {(o.name, o.business_key) for o in rows(stage, OperationRecord) if o.name == planned.operation}
    if len(keys) > 1:
        return _different(stage, both, proof, len(keys))
    wrong = _go_on(both)
    wrong += ended(stage.start()) + ended(stage.start(request_id=OTHER_ID))
    mine = sorted((o for o in rows(stage, OperationRecord) if o.name == planned.operation), key=lambda o: o.number)
    answered = [
        {"op": o.number, "status": o.status.value, "reason": o.reason, "reused": bool(o.reused_from)} for o in mine
    ]
    own = [o for o in mine if o.status is OperationStatus.SUCCEEDED and o.reused_from is None]
    if len(own) > 1:
        wrong.append(
            f"{len(own)} operations of one intention succeeded by themselves; a second answer is a reused one."
        )
    return Applied(at=stage.now(), proof=proof | {"operations": answered}, wrong=tuple(wrong))


def _different(stage: Stage, both: list[Child], proof: dict[str, Any], count: int) -> Applied:
    """Where the workflow makes a business key of its own for every run, two runs are two intentions: it says so itself."""
    wrong = _go_on(both)
    wrong += ended(stage.start()) + ended(stage.start(request_id=OTHER_ID))
    residue = "the business key is another one in each run, so nothing says that both mean the same"
    return Applied(at=stage.now(), proof=proof | {"business_keys": count}, wrong=tuple(wrong), residue=residue)


def _met(both: list[Child]) -> dict[str, Any]:
    for child in both:
        wait_stopped(child, "the meeting")
    states = {child.pid: child.process_state() for child in both}
    if set(states.values()) != {"T"}:
        raise NotApplied(f"The two did not stand still together: {states}")
    return {"together": [{"pid": pid, "state": state} for pid, state in states.items()]}


def _go_on(both: list[Child]) -> list[str]:
    for child in both:
        child.thaw()
    return [problem for child in both for problem in ended(child)]


# ---------------------------------------------------------------------- once more


def resubmitted_same(stage: Stage, planned: Planned) -> Applied:
    """The same request id with the same content finds the run, and starts nothing."""
    proof = _until(stage, planned)
    before, writes = _length(stage), _writes(stage)
    told = said(stage.lives(SUBMIT))["submitted"]
    run = _run(stage)
    wrong: list[str] = []
    if told.get("admitted") != "existing" or told.get("run_id") != run.run_id:
        wrong.append(f"The same request was answered {told}; it is {run.run_id}.")
    if _length(stage) != before or _writes(stage) != writes:
        wrong.append("The same request wrote something anew.")
    wrong += ended(stage.start())
    if planned.boundary.startswith("run.finished") and _writes(stage) != writes:
        wrong.append("Something was sent after the end.")
    kept = {name: told.get(name) for name in ("admitted", "run_id", "refused")}
    return Applied(at=stage.now(), proof=proof | {"answer": kept}, wrong=tuple(wrong))


def resubmitted_other(stage: Stage, planned: Planned) -> Applied:
    """The same request id with other content is refused, naming both digests."""
    other = other_of(stage.scenario.input, stage.scenario.other_input)
    proof = _until(stage, planned)
    before, writes = _length(stage), _writes(stage)
    told = said(stage.lives(SUBMIT, input=other))["submitted"]
    run = _run(stage)
    wrong: list[str] = []
    if told.get("refused") != "request_conflict":
        wrong.append(f"Other content under a known request id was answered {told}.")
    elif run.input_digest not in told["message"] or told["details"]["given"] not in told["message"]:
        wrong.append(f"The refusal does not name both digests: {told['message']}")
    if _length(stage) != before or _writes(stage) != writes or _run(stage).input_digest != run.input_digest:
        wrong.append("Other content under a known request id changed something.")
    wrong += ended(stage.start())
    return Applied(at=stage.now(), proof=proof | {"answer": told}, wrong=tuple(wrong))


def _until(stage: Stage, planned: Planned) -> dict[str, Any]:
    """Killed in the middle, or after a whole life."""
    if planned.boundary.startswith("run.finished"):
        child = stage.lives()
        return {"ended": {"pid": child.pid, "wait_status": child.status}}
    return {"killed": stage.dies(planned.boundary)}


def _run(stage: Stage) -> RunRecord:
    return next(run for run in rows(stage, RunRecord) if run.request_id == stage.request_id)


def _length(stage: Stage) -> int:
    return len(entries(stage, _run(stage).run_id))


def _writes(stage: Stage) -> str:
    return json.dumps({name: len(outside.writes()) for name, outside in stage.receivers.items()})
