"""Faults of the receiver's memory: its lookup lags, its keys are over before the recovery, or it has lost them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.acting import MODULE
from counterfoil.drills.faults.freezing import PATIENT, window_of
from counterfoil.drills.faults.holding import Held, again, contract_of, ended, held, let_pass, rows, sending, struck
from counterfoil.drills.faults.saying import said
from counterfoil.drills.learning import Learned
from counterfoil.drills.stage import Stage
from counterfoil.model.contract import Contract
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.receipt import LookupRecord
from counterfoil.testing.children import Child

LAGS, OVER, LOST = "lookup-lags", "key-window-over", "key-store-lost"
LOOK_UP = f"{MODULE}:look_up"
UNKNOWN_LAG = timedelta(minutes=1)  # where the contract does not say how long an effect may stay unseen
JUST_INSIDE = timedelta(seconds=1)
SHORT = {"COUNTERFOIL_LEASE_SECONDS": "2"}
RESIDUE = "a receiver that loses its keys takes a repeat for a new request"


def lagging(learned: Learned) -> Iterator[Planned]:
    """Every answer that was read, where the receiver can be asked and may be late to show."""
    for passed in learned.at("operation.first_byte"):
        operation = learned.operation_of(passed)
        if operation is not None and lag_of(operation.contract) is not None:
            yield learned.planned(passed, LAGS)


def windowed(learned: Learned) -> Iterator[Planned]:
    """Every answer that was read, where the receiver forgets keys in time."""
    for passed in learned.at("operation.replied"):
        operation = learned.operation_of(passed)
        if operation is not None and window_of(operation.contract) is not None:
            yield learned.planned(passed, OVER)


def keyed(learned: Learned) -> Iterator[Planned]:
    """Every answer that was read, where the receiver has keys to lose."""
    for passed in learned.at("operation.replied"):
        operation = learned.operation_of(passed)
        if operation is not None and operation.key:
            yield learned.planned(passed, LOST)


def lag_of(contract: Contract) -> timedelta | None:
    """How late a lookup may show an effect and the contract still be kept; None: it cannot be asked, or shows at once."""
    lookup = contract.lookup
    if lookup is None:
        return None
    if lookup.visible_within is None:
        return UNKNOWN_LAG
    lag = lookup.visible_within - min(JUST_INSIDE, lookup.visible_within / 2)
    return lag if lag > timedelta(0) else None


# ---------------------------------------------------------------------- played


def lookup_lagged(stage: Stage, planned: Planned) -> Applied:
    """What is made is shown only after a while, as late as the contract allows.

    Under a key the answer is an error and its reader is killed, so that no repeat can tell and the receiver must be asked.
    Without one the answer is lost, and the request itself is late as well.
    """
    reply = planned.boundary.replace("first_byte", "replied")
    # With a long lease, taking over alone would take longer than the lookup lags.
    first = held(stage, planned, f"before:{planned.boundary}", crash_at=reply, environ=SHORT)
    lag = lag_of(first.contract)
    if lag is None:
        raise NotApplied("The receiver shows everything at once.")
    under_key = first.contract.key is not None
    late = timedelta(0) if under_key else late_of(first.contract)
    fault = "error-after-accept" if under_key else "late" if late else "drop-reply"
    first.outside.post("fault", {"fault": fault, "seconds": late.total_seconds()})
    first.outside.post("lookup-lag", {"seconds": lag.total_seconds()})
    before = len(_lookups(stage, first))
    first.child.thaw()
    killed, wrong = (_killed(first.child), list[str]()) if under_key else (None, _ended_or_killed(first.child))
    wrong += ended(stage.start(environ=SHORT))
    results = [lookup.result for lookup in _lookups(stage, first)[before:]]
    if "absent" not in results:
        raise NotApplied(f"No lookup was made before the record was shown: {results}.")
    line, waits = struck(stage, first, fault)[1], {"lag_s": lag.total_seconds(), "late_s": late.total_seconds()}
    proof = {"log": line, "killed": killed, **waits, "results": results}
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong))


def late_of(contract: Contract) -> timedelta:
    """How late a request may still arrive once its sender has ended."""
    arrives = None if contract.lookup is None else contract.lookup.arrives_within
    return timedelta(0) if arrives is None else arrives - min(JUST_INSIDE, arrives / 2)


def window_over(stage: Stage, planned: Planned) -> Applied:
    """Accepted, killed; when somebody takes it up, the receiver has forgotten the key. Nothing may be repeated under it."""
    killed, first = _accepted(stage, planned, environ=PATIENT)
    window = window_of(first.contract)
    if window is None:
        raise NotApplied("The receiver keeps its keys for ever.")
    writes = len(first.writes())
    let_pass(stage, window + timedelta(minutes=1))
    wrong = ended(stage.start(environ=PATIENT))
    more = len(first.writes()) - writes
    if more:
        wrong.append(f"{more} repeated under a key whose time was over.")
    proof = {
        "killed": killed,
        "window_s": window.total_seconds(),
        "writes": writes,
        "status": again(stage, first.operation).status.value,
    }
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong))


def store_lost(stage: Stage, planned: Planned) -> Applied:
    """Accepted, killed; the receiver loses its keys; recovered. Where it can be asked, two records must not stay unseen."""
    killed, first = _accepted(stage, planned)
    writes = len(first.writes())
    forgotten = first.outside.post("forget-keys")
    if forgotten.get("forgotten") == 0:  # a receiver of the user's own does not say how many it had
        raise NotApplied("The receiver had no key to lose.")
    wrong = ended(stage.start())
    asked = None
    if first.contract.lookup is not None:  # whoever asks now must be shown two records, or there is one
        asked = said(stage.lives(LOOK_UP, operation=first.operation.operation_id))["looked_up"]
        wrong += ended(stage.start())
    proof = {
        "killed": killed, "forgotten": forgotten, "writes_after": len(first.writes()) - writes, "asked": asked,
        "records": [record["id"] for record in first.records()], "incidents": [i.what for i in rows(stage, IncidentRecord)],
    }  # fmt: skip
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong), residue=RESIDUE)


# ---------------------------------------------------------------------- inside


def _accepted(stage: Stage, planned: Planned, **arguments: Any) -> tuple[dict[str, Any], Held]:
    """Killed with the answer read and nothing of it saved."""
    killed = stage.dies(planned.boundary, **arguments)
    operation = sending(stage, planned.operation)
    if operation is None:
        raise NotApplied(f"After {planned.boundary} no operation is in flight.")
    first = Held(stage.started[-1], operation, contract_of(stage, operation), stage.receivers[operation.receiver])
    if not first.writes():
        raise NotApplied("Nothing had reached the receiver.")
    return killed, first


def _killed(child: Child) -> dict[str, Any]:
    child.wait()
    if child.exit_signal != 9:
        raise NotApplied(f"Child {child.pid} was not killed (status {child.status}). {child.wrote()[-2000:]}")
    return {"wait_status": child.status, "signal": "SIGKILL", "pid": child.pid}


def _ended_or_killed(child: Child) -> list[str]:
    """Without a key nothing is answered; should it send once more and read that answer, it dies there like the others."""
    child.wait()
    return [] if child.exit_signal == 9 else ended(child)


def _lookups(stage: Stage, first: Held) -> list[LookupRecord]:
    mine = [lookup for lookup in rows(stage, LookupRecord) if lookup.operation_id == first.operation.operation_id]
    return sorted(mine, key=lambda lookup: lookup.n)
