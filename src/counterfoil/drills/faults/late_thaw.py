"""A first sender that is thawed when the repeat has succeeded and the receiver has forgotten its key (a variant of freezing).

Only the attempt's own deadline keeps its request from leaving then, and the receiver would take it for a new one.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.holding import claims, ended, held
from counterfoil.drills.stage import Stage
from counterfoil.model.contract import Contract

VARIANT = "thawed-past-window"


def played(stage: Stage, planned: Planned, window_of: Callable[[Contract], timedelta | None]) -> Applied:
    """Frozen before its first byte, taken over and, where that is harmless, repeated; the window passes; thawed."""
    first = held(stage, planned, f"before:{planned.boundary}")
    window = window_of(first.contract)
    if window is None:
        raise NotApplied("The receiver keeps its keys for ever.")
    wrong = ended(stage.start())
    if first.child.process_state() != "T":
        raise NotApplied(f"Process {first.child.pid} did not stand still while it was taken over.")
    taken = claims(stage, first.operation.run_id)
    stage.clock.advance(window + timedelta(minutes=1))
    before = len(first.writes())
    first.child.thaw()
    wrong += ended(first.child)
    late = len(first.writes()) - before
    if late:
        wrong.append(f"{late} began to leave after the deadline of its attempt.")
    proof: dict[str, Any] = {
        "frozen": f"before:{planned.boundary}", "stopped": {"pid": first.child.pid, "state": "T"}, "claims": taken,
        "window_s": window.total_seconds(), "writes_before": before, "writes_after": before + late,
    }  # fmt: skip
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong))
