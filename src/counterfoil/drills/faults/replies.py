"""Faults of the answer: it is lost, it hides what was accepted, it never comes, or it refuses."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.holding import Held, again, ended, held, let_pass, rows, sends, struck
from counterfoil.drills.learning import Learned
from counterfoil.drills.stage import Stage
from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.exchange import Exchange
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.run import BUDGET_REASONS
from counterfoil.rules.classify import classify

BY_ITS_CLOCK = "counterfoil.drills.faults.acting:live_by_its_clock"
PAST = timedelta(seconds=1)
SPENT = BUDGET_REASONS  # a lost answer costs a try, which a budget may lack


def cases(fault: str) -> Callable[[Learned], Iterator[Planned]]:
    """Every hit at which something was sent."""
    return lambda learned: (learned.planned(passed, fault) for passed in sends(learned))


def dropped(stage: Stage, planned: Planned) -> Applied:
    """The receiver accepts, and its answer is lost."""
    return _answered(stage, planned, "drop-reply", {})


def failed_after(stage: Stage, planned: Planned) -> Applied:
    """The receiver accepts, and answers with a 500."""
    return _answered(stage, planned, "error-after-accept", {})


def refused(stage: Stage, planned: Planned) -> Applied:
    """The receiver refuses without effect, in the words that the contract gives to a refusal, where it gives any."""
    first = held(stage, planned, f"before:{planned.boundary}")
    words = refusal_in(first.contract)
    status, body = words or (422, None)
    first.outside.post("fault", {"fault": "refuse", "status": status, "body": body})
    wrong = _goes_on(first)
    first, line = struck(stage, first, "refuse")
    if line.get("status") != status:
        raise NotApplied(f"The receiver answered {line.get('status')}, not {status}.")
    if words is None:
        understood = "the contract knows no refusal that a receiver without headers of its own can say"
    else:
        understood = "refused"
        wrong += _not_failed(stage, first)
    return Applied(at=stage.now(), proof={"log": line, "understood": understood}, wrong=tuple(wrong))


def hung(stage: Stage, planned: Planned) -> Applied:
    """The receiver accepts and never answers: the request's time runs out on the clock of the case."""
    first = held(stage, planned, f"before:{planned.boundary}", BY_ITS_CLOCK)
    first.outside.post("fault", {"fault": "hang"})
    first.child.thaw()
    wait_for_write(first, "hang")
    let_pass(stage, first.contract.request_timeout + PAST)
    wrong = ended(first.child)
    first, line = struck(stage, first, "hang")
    problem = _ended_by(stage, first)
    if not any(
        word in problem.lower() for word in ("timeout", "timed out")
    ):  # a client that is no HTTP says it its own way
        raise NotApplied(f"The attempt did not end because its time ran out: {problem!r}")
    waited = first.contract.request_timeout.total_seconds()
    proof = {"log": line, "waited_s": waited, "attempt": json.loads(problem)}
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong), ends=SPENT)


def wait_for_write(first: Held, fault: str) -> None:
    """Until the receiver has decided the write that the fault met."""
    while not _met(first, fault):
        decided = first.outside.post("wait", {"requests": 0})["requests"]
        if _met(first, fault):
            return
        if not first.outside.post("wait", {"requests": decided + 1, "seconds": 20})["reached"]:
            raise NotApplied(f"No write reached the receiver under {fault}.")


def _met(first: Held, fault: str) -> bool:
    return any(line.get("fault") == fault for line in first.outside.writes())


def refusal_in(contract: Contract) -> tuple[int, dict[str, Any] | None] | None:
    """A status and a body that this contract calls a refusal; None where only headers could say it."""
    for rule in contract.classifier:
        if rule.meaning is not Meaning.REFUSED or rule.header:
            continue
        status = _status(rule.status)
        body = _nested(rule.body) or None
        said = Exchange("body", True, status, {}, _bytes(body))
        if classify(contract, said) is Meaning.REFUSED:
            return status, body
    return None


# ---------------------------------------------------------------------- inside


def _answered(stage: Stage, planned: Planned, fault: str, more: Mapping[str, Any]) -> Applied:
    first = held(stage, planned, f"before:{planned.boundary}")
    first.outside.post("fault", {"fault": fault, **more})
    wrong = _goes_on(first)
    _, line = struck(stage, first, fault)
    ends = SPENT if fault == "drop-reply" else None
    proof = {"log": line, "frozen_to_arm": first.child.pid}
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong), ends=ends)


def _goes_on(first: Held) -> list[str]:
    first.child.thaw()
    return ended(first.child)


def _not_failed(stage: Stage, first: Held) -> list[str]:
    """A refusal in the contract's own words is evidence: doubt would be too little, and a success a lie."""
    operation = again(stage, first.operation)
    if operation.status.value == "failed" or first.records():
        return []
    return [f"The receiver refused {operation.operation_id}, and it is called {operation.status.value}."]


def _ended_by(stage: Stage, first: Held) -> str:
    attempts = [a for a in rows(stage, AttemptRecord) if a.operation_id == first.operation.operation_id]
    hung = min(attempts, key=lambda attempt: attempt.n, default=None)
    return "" if hung is None or hung.exchange is None else str(hung.exchange)


def _status(wanted: str | frozenset[int]) -> int:
    if not isinstance(wanted, str):
        return min(wanted)
    return 422 if wanted == "any" else int(wanted[0]) * 100 + (22 if wanted == "4xx" else 0)


def _nested(flat: Mapping[str, object]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for path, value in flat.items():
        place = nested
        *holders, last = path.split(".")
        for name in holders:
            place = place.setdefault(name, {})
        place[last] = "there" if value is ... else value
    return nested


def _bytes(body: Mapping[str, Any] | None) -> bytes:
    return json.dumps(body or {"error": {"code": "refused"}}).encode()
