"""A case: one fault at one boundary of one workflow. What is planned, what was done, and which faults there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterfoil.drills.learning import Learned
    from counterfoil.drills.stage import Stage


class NotApplied(Exception):
    """A disturbance that cannot be shown to have happened: the case fails, whatever the receiver holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One case to play. `boundary` is NAME#HIT, counted from the submission on, as the clean run passed it.

    `scenario` names what is played where a workflow has several; `operation` is the operation at that boundary and
    `step` the step, if one is; `name` is the case's own name, if it is one of the named drills (plan.py gives it).
    `variant`: the same fault at the same boundary, made otherwise.
    """

    workflow: str
    boundary: str
    fault: str
    scenario: str | None = None
    operation: str | None = None
    step: str | None = None
    name: str | None = None
    variant: str | None = None

    @property
    def case_id(self) -> str:
        """`{workflow}/[{scenario}/]{boundary}/{fault}[:{variant}]`."""
        fault = self.fault if self.variant is None else f"{self.fault}:{self.variant}"
        parts = (self.workflow, self.scenario, self.boundary, fault)
        return "/".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """That a disturbance really happened. `at` is when (RFC 3339), `proof` the facts that show it, as JSON.

    `wrong`: what the fault itself saw that must not be. `residue`: why a second record here is one of the states that no
    rule can prevent (design.md, "what is left"); then duplicates make the case `not_applicable`, and stay shown.
    `ends`: as what the run may rest without having completed (a park reason, `review`, `failed`, `cancelled`), besides a
    doubt that its contract gives no way out of; None: as anything that is visible.
    """

    at: str
    proof: Mapping[str, Any]
    wrong: tuple[str, ...] = ()
    residue: str | None = None
    ends: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """`cases` says where it applies to what was learned. `play` disturbs and recovers; the runner inspects and judges.

    `play` raises NotApplied when it cannot show that it disturbed. `not_built` is the number of the issue that brings
    what it needs: its cases are `not_run`. `cases` of such a fault still gives at least one.
    """

    name: str
    sentence: str
    cases: Callable[[Learned], Iterable[Planned]]
    play: Callable[[Stage, Planned], Applied]
    not_built: str | None = None
