"""A worker that stands still past its lease, a second one that takes over and comes to rest, and the first one thawed.

Three things may be frozen: a worker at a boundary; one whose request is on its way (`queued`: it arrives after the second
worker has come to rest); one whose request was accepted and is not answered yet (`unanswered`). And `window-over`: the
window of the key has passed before the second worker comes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import takewhile
from typing import Any

from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults import late_thaw
from counterfoil.drills.faults.holding import (
    Held,
    claims,
    contract_of,
    ended,
    entries,
    held,
    let_pass,
    row,
    rows,
    sending,
    sends,
    stopped,
    struck,
    wait_stopped,
)
from counterfoil.drills.faults.replies import wait_for_write
from counterfoil.drills.learning import Learned
from counterfoil.drills.stage import Stage
from counterfoil.model.contract import Contract
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.run import RunRecord
from counterfoil.testing.children import Child

NAME = "freeze-takeover-thaw"
AT = (
    "run.claimed", "step.ended", "decision.asked", "operation.prepared", "operation.in_flight", "marker.flushed",
    "operation.first_byte", "operation.replied",
)  # fmt: skip
# What a thawed worker may still write before it claims a run anew: evidence, and what people say in its process.
UNSENT = frozenset({"operation.in_flight", "marker.flushed", "operation.first_byte"})
EVIDENCE = frozenset(
    {
        "operation.first_byte", "operation.replied", "operation.classified", "marker.flushed", "worker.seen",
        "review.answered", "signal.stored", "run.submitted",
    }
)  # fmt: skip
RESIDUE = "a request that is on its way for longer than the receiver keeps its key is taken for a new one"
HELD_S = 60
PATIENT = {
    "COUNTERFOIL_RUNNING_SECONDS": str(400 * 86_400)
}  # a day without an entry is this fault's doing, not the run's


def cases(learned: Learned) -> Iterator[Planned]:
    """At every boundary of sending, at steps and decisions; and at every send with its request already on the wire."""
    for passed in learned.at(*AT):
        yield learned.planned(passed, NAME)
    for passed in sends(learned):
        planned = learned.planned(passed, NAME)
        operation = learned.operation_of(passed)
        yield replace(planned, variant="queued")
        yield replace(planned, variant="unanswered")
        if operation is not None and window_of(operation.contract) is not None:
            yield replace(planned, variant="window-over")
            yield replace(planned, variant="queued-past-window")
            yield replace(planned, variant=late_thaw.VARIANT)


def played(stage: Stage, planned: Planned) -> Applied:
    """Freeze, take over, come to rest, thaw, come to rest."""
    match planned.variant:
        case "queued":
            return _on_the_wire(stage, planned, "queued")
        case "unanswered":
            return _on_the_wire(stage, planned, "slow")
        case "queued-past-window":
            return _on_the_wire(stage, planned, "queued", past_window=True)
        case "window-over":
            return _at_boundary(stage, planned, past_window=True)
        case late_thaw.VARIANT:
            return late_thaw.played(stage, planned, window_of)
        case _:
            return _at_boundary(stage, planned)


def window_of(contract: Contract) -> timedelta | None:
    """How long the receiver keeps a key; None where it has none, or keeps it for ever."""
    key = contract.key
    retention = None if key is None else key.account_retention or key.retention
    return None if retention is None or retention == timedelta.max else retention


# ---------------------------------------------------------------------- frozen at a boundary


def _at_boundary(stage: Stage, planned: Planned, *, past_window: bool = False) -> Applied:
    at = planned.boundary
    child = stopped(stage, at, environ=PATIENT if past_window else {})
    operation = sending(stage, planned.operation)
    first = None
    if operation is not None:
        first = Held(child, operation, contract_of(stage, operation), stage.receivers[operation.receiver])
    taken = _taken_over(stage, child, first, window_of(first.contract) if past_window and first else None)
    tried = _newest(stage, first) if planned.boundary.partition("#")[0] in UNSENT else None
    over = tried is not None and tried.deadline_at <= stage.clock.now_us()
    thawed = _thawed(stage, child)
    wrong = taken.wrong + thawed.wrong
    if over and tried is not None and row(stage, AttemptRecord, tried.attempt_id).sent:
        wrong += (f"Attempt {tried.n} was sent after its deadline.",)
    proof = {"frozen": at, "deadline_over": over, **taken.proof, **thawed.proof}
    return Applied(at=stage.now(), proof=proof, wrong=wrong)


def _newest(stage: Stage, first: Held | None) -> AttemptRecord | None:
    """The attempt of the worker that stands still: nobody else had begun one before it stood."""
    if first is None or not first.operation.attempts:
        return None
    mine = [a for a in rows(stage, AttemptRecord) if a.operation_id == first.operation.operation_id]
    return next((a for a in mine if a.n == first.operation.attempts), None)


def _on_the_wire(stage: Stage, planned: Planned, fault: str, *, past_window: bool = False) -> Applied:
    """The request has left: it stands before the receiver, or was accepted, while its sender is frozen."""
    first = held(stage, planned, f"before:{planned.boundary}")
    come = first.outside.post("wait", {"arrived": 0})["arrived"]
    first.outside.post("fault", {"fault": fault, "seconds": HELD_S})
    first.child.thaw()
    if fault == "slow":
        wait_for_write(first, fault)
    elif not first.outside.post("wait", {"arrived": come + 1, "seconds": 20})["reached"]:
        raise NotApplied("The request did not reach the receiver.")
    first.child.freeze()
    wait_stopped(first.child, "the wire")
    held_back = len(first.writes())
    taken = _taken_over(stage, first.child, first, None)
    if past_window:
        let_pass(stage, (window_of(first.contract) or timedelta(0)) + timedelta(minutes=1))
    first.outside.post("release")
    wait_for_write(first, fault)
    thawed = _thawed(stage, first.child)
    _, line = struck(stage, first, fault)
    proof = {"frozen": "on the wire", "decided_before": held_back, "log": line, **taken.proof, **thawed.proof}
    residue = RESIDUE if past_window else None
    return Applied(at=stage.now(), proof=proof, wrong=taken.wrong + thawed.wrong, residue=residue)


# ---------------------------------------------------------------------- the second worker, and the first again


@dataclass(frozen=True, slots=True)
class _Part:
    proof: dict[str, Any]
    wrong: tuple[str, ...]


def _taken_over(stage: Stage, child: Child, first: Held | None, past: timedelta | None) -> _Part:
    """A second process lives on until it is at rest; the journal must show its higher fence while the first stands still."""
    before = _claimed(stage)
    sent = 0 if first is None else _begun(first)
    if past is not None:
        let_pass(stage, past + timedelta(minutes=1))
    second = stage.start(environ={} if past is None else PATIENT)
    wrong = ended(second)
    after = _claimed(stage)[len(before) :]
    if child.process_state() != "T":
        raise NotApplied(f"Process {child.pid} did not stand still while it was taken over.")
    if not after:
        raise NotApplied("No second worker took the run up: it had come to rest already.")
    highest = max((claim["fence"] for claim in before), default=-1)
    if any(claim["fence"] <= highest for claim in after):
        wrong.append(f"A second worker took the run up under fence {after[0]['fence']}, which is not above {highest}.")
    if first is not None and first.operation.sent and not _harmless(first.contract, past):
        more = _begun(first) - sent
        if more:
            wrong.append(f"{more} more sent while the first sender stood still and was not gone.")
    proof = {
        "stopped": {"pid": child.pid, "state": "T"},
        "first": before[-1:],
        "second": after[0],
        "second_pid": second.pid,
    }
    return _Part(proof, tuple(wrong))


def _thawed(stage: Stage, child: Child) -> _Part:
    """The first one goes on where it stood: evidence is all that it may still write."""
    passed = len(stage.passed(pid=child.pid))
    run = rows(stage, RunRecord)[0]
    length = len(entries(stage, run.run_id))
    child.thaw()
    wrong = ended(child)
    mine = stage.passed(pid=child.pid)[passed:]
    names = {name for hit in takewhile(lambda hit: "run.claimed" not in hit, mine) for name in hit}
    forbidden = sorted(names - EVIDENCE)
    if forbidden:
        wrong.append(f"The thawed worker wrote {', '.join(forbidden)} under a fence that was no longer its own.")
    news = [entry.kind.value for entry in entries(stage, run.run_id)[length:]]
    wrong += ended(stage.start())
    return _Part({"thawed": sorted(names), "entries_after": news, "exit_code": child.exit_code}, tuple(wrong))


def _claimed(stage: Stage) -> list[dict[str, Any]]:
    runs = [run for run in rows(stage, RunRecord) if run.parent_run_id is None]
    return claims(stage, runs[0].run_id) if runs else []


def _begun(first: Held) -> int:
    """Writes that have come to the receiver or were decided there: what is held back there counts only once it is taken in."""
    return len(first.writes())


def _harmless(contract: Contract, past: timedelta | None) -> bool:
    """Whether the receiver makes a second send harmless: only then it does not matter that the first sender may still send."""
    return contract.precondition is not None or (contract.key is not None and past is None)
