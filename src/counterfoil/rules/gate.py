"""The gate before unattended writes: what needs a drill, what a drill covers, and which drill counts."""

from collections.abc import Iterable
from enum import StrEnum

from counterfoil.model.drill import Covered, DrillRecord, Rehearsal, WaiverRecord
from counterfoil.rules.situation import DAY_US

LONGEST_WAIVER_US = 90 * DAY_US


class Gate(StrEnum):
    """At which receivers the gate holds. There is no `off`: that is a waiver, with a name and an end."""

    LIVE = "live"
    ALL = "all"


def unattended(gate: Gate, environments: Iterable[str], *, review_needed: bool) -> bool:
    """Whether sending needs a drill. `environments`: the receiver's as it was prepared, and as the code says now.

    A drill sends to receivers of the environment `test`, so there the gate may stand open; one word for live is enough.
    """
    return not review_needed and (gate is Gate.ALL or "live" in environments)


def covered(send: Covered, drills: Iterable[DrillRecord], waivers: Iterable[WaiverRecord], now: int) -> bool:
    """Whether a registered drill speaks for exactly this, or a waiver stands now. Pure: its caller reads the clock."""
    return any(of_drill(drill) == send for drill in drills) or any(
        waiver.operation == send.operation and stands(waiver, now) for waiver in waivers
    )


def of_drill(drill: DrillRecord) -> Covered:
    """What a registered drill speaks for."""
    return Covered(drill.operation, drill.contract_digest, drill.workflow, drill.workflow_version)


def stands(waiver: WaiverRecord, now: int) -> bool:
    """A waiver ends by itself."""
    return waiver.revoked_at is None and now < waiver.ends_at


def why_not(rehearsal: Rehearsal) -> str | None:
    """Why a drill may not be registered; None where it may: whole, and nothing in it failed."""
    failed = [case.case_id for case in rehearsal.cases if case.verdict == "fail"]
    unplayed = [case.case_id for case in rehearsal.cases if case.verdict == "not_run" and case.not_built is None]
    if failed:
        return f"{len(failed)} of its cases failed, the first is {failed[0]}"
    if rehearsal.left_out or unplayed:
        missing = [*rehearsal.left_out, *unplayed]
        return f"it is not whole: {len(missing)} of its cases were not played, the first is {missing[0]}"
    if not any(case.verdict == "pass" for case in rehearsal.cases):
        return "no case of it passed"
    if not rehearsal.covers:
        return "it performed no operation"
    return None


def sentence_of(send: Covered) -> str:
    """What is missing, in words that name it."""
    return (
        f"{send.operation} has no review, and neither a passing drill of {send.workflow} version {send.workflow_version} "
        f"under contract {send.contract_digest[:19]} nor a waiver covers it"
    )
