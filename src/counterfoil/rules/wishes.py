"""What somebody wants to do, as the rows of a run, an operation or a review put it."""

import json

from counterfoil.model.access import Act, RecordKind
from counterfoil.model.budget import BudgetRecord, Scope
from counterfoil.model.operation import OperationRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.permissions import Wish


def about_run(act: Act, run: RunRecord, *, kind: RecordKind | None = None) -> Wish:
    """The run as a whole. Its owners are who owns it now and is next, and who owns its budget."""
    budget = json.loads(run.budget)["owner"]
    return Wish(act, run.workflow, kind=kind, roles=_named(run.owner, run.owner_then, budget["name"], budget["then"]))


def about_operation(act: Act, operation: OperationRecord, run: RunRecord, *, kind: RecordKind | None = None) -> Wish:
    """One operation, with its amount. Its owner may act, and who owns its run."""
    roles = _named(operation.owner, run.owner, run.owner_then)
    amount, currency = operation.amount_minor, operation.currency
    return Wish(act, run.workflow, operation.name, kind, amount, currency, roles)


def about_review(act: Act, review: ReviewRecord, operation: OperationRecord, run: RunRecord) -> Wish:
    """A review of an operation: who may answer is the role that it asks."""
    amount, currency = operation.amount_minor, operation.currency
    return Wish(act, run.workflow, operation.name, None, amount, currency, frozenset({review.role}))


def about_budget(act: Act, budget: BudgetRecord) -> Wish:
    """A shared budget. A workflow's belongs to that workflow, every other one to the installation."""
    owner = json.loads(budget.owner)
    workflow = budget.key if budget.scope is Scope.WORKFLOW else None
    return Wish(act, workflow, roles=_named(owner["name"], owner["then"]))


def about_installation(act: Act) -> Wish:
    """What belongs to no run."""
    return Wish(act)


def _named(*names: str | None) -> frozenset[str]:
    return frozenset(name for name in names if name)
