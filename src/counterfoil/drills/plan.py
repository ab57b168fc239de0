"""The plan: which cases there are for what was learned, which of them have names, and which are wanted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from counterfoil.drills.case import Fault, Planned
from counterfoil.drills.faults import FAULTS
from counterfoil.drills.learning import Learned
from counterfoil.model.errors import Refused

ALL_NAMED = "named"


@dataclass(frozen=True, slots=True)
class Named:
    """A drill that has a name: a fault, at the first of these boundaries that the workflow passes; without any: anywhere."""

    name: str
    fault: str
    boundaries: tuple[str, ...] = ()
    shows: str = ""


# The rows of the onboarding acceptance plan, the failing step, and the story of the refund.
NAMED: tuple[Named, ...] = (
    Named(
        "draft-saved", "kill-after", ("proposal.made", "operation.prepared"), "The draft is saved; nobody was asked."
    ),
    Named("review-pending", "kill-after", ("review.opened",), "The review is open; nobody has answered."),
    Named("approved-not-sent", "kill-after", ("review.answered",), "Approved, and no request has left."),
    Named("accepted-no-receipt", "kill-after", ("operation.replied",), "Accepted, and the receipt is not saved."),
    Named("receipt-saved", "kill-after", ("operation.classified",), "The receipt is saved, the run has not ended."),
    Named("overlapping-deliveries", "two-deliveries", (), "The same request arrives twice at once."),
    Named("code-deployed", "code-changed", (), "Other code is deployed between the crash and the recovery."),
    Named("step-always-fails", "step-always-fails", (), "A step never works; its budget ends it."),
    Named("refund-not-sent", "kill-before", ("operation.first_byte",), "Killed before the request leaves."),
    Named("refund-reply-lost", "drop-reply", (), "Accepted, and the reply is lost."),
    Named(
        "refund-resubmitted",
        "resubmit-same",
        ("operation.classified", "run.finished"),
        "The receipt is saved, and the same request comes again.",
    ),
    Named(
        "refund-after-deploy", "code-changed", ("operation.classified",), "The same request again, after a deployment."
    ),
)


def planned_of(learned: Iterable[Learned], faults: Mapping[str, Fault] = FAULTS) -> list[Planned]:
    """Every case of the matrix, in the order of the faults, then of the boundaries. Each stands in it once."""
    found: dict[str, Planned] = {}
    begun: set[str] = set()
    for each in learned:
        cases = [case for fault in faults.values() if _plays(each, fault.name) for case in fault.cases(each)]
        # A name is one case: of several scenarios the first one's.
        for case in cases if each.workflow in begun else named(cases):
            found.setdefault(case.case_id, case)
        begun.add(each.workflow)
    return list(found.values())


def named(cases: Sequence[Planned]) -> Iterator[Planned]:
    """The cases of one scenario, with their names. A case has one name; where two would fit, the second takes the next case."""
    names: dict[str, str] = {}
    for each in sorted(NAMED, key=lambda n: not n.boundaries):
        fitting = [case for case in cases if case.fault == each.fault and case.case_id not in names]
        chosen = _first(fitting, each.boundaries)
        if chosen is not None:
            names[chosen.case_id] = each.name
    return (replace(case, name=names.get(case.case_id)) for case in cases)


def _first(cases: Sequence[Planned], boundaries: Sequence[str]) -> Planned | None:
    if not boundaries:
        return next(iter(cases), None)
    at = {boundary: [c for c in cases if c.boundary.partition("#")[0] == boundary] for boundary in boundaries}
    return next((found[0] for found in at.values() if found), None)


def wanted(cases: Sequence[Planned], only: str | None) -> list[Planned]:
    """Those that are asked for; None for all. Raises Refused(usage) when there is none."""
    found = [case for case in cases if only is None or fits(case, only)]
    if not found:
        raise Refused("usage", problem=f"no case fits {only!r}; `--list` shows all {len(cases)}")
    return found


def fits(case: Planned, only: str) -> bool:
    """Whether a case's id or name fits a glob; `named` fits every case that has a name."""
    if only == ALL_NAMED:
        return case.name is not None
    return only == case.case_id or any(fnmatchcase(text, only) for text in (case.case_id, case.name or ""))


def _plays(learned: Learned, fault: str) -> bool:
    only = learned.scenario.only
    return only is None or any(fnmatchcase(fault, each) for each in only)
