"""The verdict on a case: a pure function of the evidence. A pass is that every check found nothing."""

from dataclasses import dataclass
from typing import Literal

from counterfoil.drills.checks import CHECKS, DUPLICATES, bound, invisible, unledgered
from counterfoil.drills.evidence import Evidence

Verdict = Literal["pass", "fail", "not_applicable", "not_run"]
Outcome = Literal["succeeded", "failed", "unresolved"]


@dataclass(frozen=True, slots=True)
class Judged:
    """`reasons`: `code: sentence` of everything that is wrong, or why the case says nothing. `visible`: nothing open is hidden."""

    verdict: Verdict
    reasons: tuple[str, ...]
    outcome: Outcome
    visible: bool
    approval_bound: bool | None
    unledgered_writes: int


def judge(evidence: Evidence) -> Judged:
    """Every check is asked, so that a case that fails for two reasons says both."""
    wrong = [found for check in CHECKS for found in check(evidence)]
    reasons = [f"{code}: {sentence}" for code, sentence in wrong]
    verdict: Verdict = "fail" if wrong else "pass"
    residue = evidence.applied.residue
    if residue is not None and wrong and all(code == DUPLICATES for code, _ in wrong):
        verdict, reasons = "not_applicable", [f"residue: {residue}", *reasons]
    return Judged(
        verdict,
        tuple(reasons),
        outcome_of(evidence),
        not list(invisible(evidence)),
        bound(evidence),
        unledgered(evidence),
    )


def outcome_of(evidence: Evidence) -> Outcome:
    """What became of the run, by the ledger's own state."""
    run = evidence.run
    if run is not None and run["state"] == "completed":
        return "succeeded"
    return "failed" if run is not None and run["state"] in ("failed", "cancelled") else "unresolved"
