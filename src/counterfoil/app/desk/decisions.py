"""`desk.decisions`."""

from typing import Any

from counterfoil.app.decisions import ANY, DecisionFilter
from counterfoil.app.desk.sight import Look, Sight
from counterfoil.app.desk.withheld import without
from counterfoil.model.access import RecordKind
from counterfoil.rules.permissions import seen
from counterfoil.store.port import Workflows

_DECISION = {
    "versions": RecordKind.DECISIONS, "revises": RecordKind.DECISIONS, "reason": RecordKind.DECISIONS,
    "usage": RecordKind.DECISIONS, "cost_micros": RecordKind.DECISIONS, "input": RecordKind.DECISIONS,
    "output": RecordKind.DECISIONS, "verdict": RecordKind.APPROVALS, "verdicts": RecordKind.APPROVALS,
}  # fmt: skip


class DeskDecisions:
    """As `app.decisions`, of the workflows that the person sees. What is not read is null and withheld.

    A case of a data set is its input, its output and its verdict: who may not read all three gets no case, and a count.
    """

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.decisions

    def list(self, wanted: DecisionFilter = ANY) -> dict[str, Any]:
        """`{items: [DECISION], more}`. Whoever may not read approvals filters by no verdict: that would tell it."""
        with self._sight.look() as look:
            workflows = look.filter_workflows if wanted.verdict is None else _readable(look, RecordKind.APPROVALS)
        page = self._noun.list(wanted, workflows=workflows)
        with self._sight.look() as look:
            return page | {"items": [_withheld(look, each) for each in page["items"]]}

    def show(self, decision: str) -> dict[str, Any]:
        """DECISION with its input and output. Raises Refused(not_found, ambiguous_id)."""
        run, _, sequence = decision.rpartition("/")
        with self._sight.look() as look:
            record = look.run(run or decision)
        view = self._noun.show(f"{record.run_id}/{sequence}")
        with self._sight.look() as look:
            return _withheld(look, view)

    def cases(self, wanted: DecisionFilter = ANY) -> dict[str, Any]:
        """`{cases, missing, more, withheld}`; `withheld` counts the decisions that fit and may not be read."""
        with self._sight.look() as look:
            workflows = look.filter_workflows if wanted.verdict is None else _readable(look, RecordKind.APPROVALS)
        found = self._noun.cases(wanted, workflows=workflows)
        with self._sight.look() as look:
            read = [each for each in found["cases"] if not _withheld(look, each["metadata"])["withheld"]]
        return found | {"cases": read, "withheld": len(found["cases"]) - len(read)}

    def usage(self, wanted: DecisionFilter = ANY, *, by: str = "model") -> dict[str, Any]:
        """What models used and cost, in the workflows whose decisions the person reads."""
        with self._sight.look() as look:
            workflows = _readable(look, RecordKind.DECISIONS)
        return self._noun.usage(wanted, by=by, workflows=workflows)


def _readable(look: Look, kind: RecordKind) -> Workflows:
    """The workflows of which the person reads records of a kind, None for all."""
    whole = {workflow for workflow, operation in seen(look.standing, look.actor.scope, kind=kind) if operation is None}
    return None if None in whole else sorted(workflow for workflow in whole if workflow is not None)


def _withheld(look: Look, view: dict[str, Any]) -> dict[str, Any]:
    run = look.run_of(view["run_id"])
    return without(view, _DECISION, lambda kind: look.reads_run(kind, run))
