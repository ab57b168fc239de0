"""From decorated functions to definitions, refused at once when they are unsafe; owners are checked at start."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError

from counterfoil.app.limits_declared import check_limits, check_names
from counterfoil.app.slots_declared import UNLIMITED, WorkflowLimits, check_workflow_limits
from counterfoil.engine.definitions import Operation, Registry, Workflow, signature_of
from counterfoil.engine.document import D, Document
from counterfoil.engine.marking import marks_of
from counterfoil.engine.opened import Opened
from counterfoil.model.budget import Budget
from counterfoil.model.contract import Contract, refusal_at_start
from counterfoil.model.document import DocumentScope
from counterfoil.model.errors import Refused
from counterfoil.model.people import Owner, PersonRecord, owner_of
from counterfoil.model.review import ReviewBy
from counterfoil.rules.authority import roles_of as roles_of_person


def operation_from(
    function: Callable[..., Any],
    receiver: str,
    contract: Contract | None,
    business_key: str | Callable[[Any], str] | None,
    repeatable: bool,
    review: ReviewBy | None,
    owner: Owner | str | None,
) -> Operation[Any, Any]:
    """Rule 22: unsafe configuration is refused with a code."""
    name = getattr(function, "__name__", type(function).__name__)
    if contract is None:  # a caller without a type checker
        raise Refused("no_contract", name=name)
    signature = signature_of(function, skip=1)
    if len(signature.inputs) != 1:
        raise Refused("type_missing", name=name, where="one payload after the call")
    refusal = refusal_at_start(name, contract, has_business_key=business_key is not None, repeatable=repeatable)
    if refusal is not None:
        raise refusal
    marks_of(function)
    if review is not None and review.approvals < 1:
        raise Refused("too_few_approvals", name=name, approvals=review.approvals)
    if review is None and owner is None:
        raise Refused("no_owner", name=name)
    return Operation(name, function, receiver, contract, business_key, repeatable, review, owner)


def workflow_from(
    function: Callable[..., Any], version: int, budget: Budget, limits: WorkflowLimits = UNLIMITED
) -> Workflow[Any, Any]:
    """A workflow takes the run and one input."""
    name = getattr(function, "__name__", type(function).__name__)
    signature = signature_of(function, skip=1)
    if len(signature.inputs) != 1:
        raise Refused("type_missing", name=name, where="one input after the run")
    check_limits(name, budget)
    check_workflow_limits(name, limits, signature.inputs[0][1])
    return Workflow(name, version, function, budget, limits.concurrency, limits.partition, limits.queue)


def document_from(name: str, type_: type[D], scope: str, default: D | None, setting: str | None) -> Document[D]:
    """A model's type with something to read before anybody writes. Raises Refused(document_unfit)."""

    def unfit(problem: str) -> Refused:
        return Refused("document_unfit", name=name, problem=problem)

    if not name.strip() or not name.isprintable():
        raise unfit("its name is empty, or not printable")
    if not issubclass(type_, BaseModel):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller without a type checker
        raise unfit("its type is no Pydantic model")
    if scope not in set(DocumentScope):
        raise unfit(f"its scope is {', '.join(DocumentScope)}")
    if setting is not None and scope != DocumentScope.KEY:
        raise unfit("only a document under a key has a setting that names it")
    if default is None:
        try:
            default = type_()
        except ValidationError as problem:
            raise unfit(f"it needs a default to be read before anybody writes: {problem.errors()[0]['loc']}") from None
    return Document(name, type_, DocumentScope(scope), default, setting)


def roles_of(registry: Registry) -> set[str]:
    """The roles that reviews ask for."""
    return {o.review.role for o in registry.operations.values() if o.review is not None}


def owners_of(registry: Registry) -> set[str]:
    """Every owner, and who is next after each."""
    owners: list[Owner] = [owner_of(w.budget.owner) for w in registry.workflows.values() if w.budget.owner]
    for operation in registry.operations.values():
        owners += [
            owner_of(who) for who in (operation.owner, operation.review.owner if operation.review else None) if who
        ]
    owners += [owner_of(budget.owner) for budget in registry.budgets.values()]
    return {owner.name for owner in owners} | {owner.then for owner in owners if owner.then}


def named_in(registry: Registry) -> list[str]:
    """Every role and owner that an application names."""
    return sorted(roles_of(registry) | owners_of(registry))


def check_owners(registry: Registry, opened: Opened) -> None:
    """An owner or role that is nobody is refused, and a budget of what nothing is called.

    Raises Refused(unknown_owner | unknown_receiver | budget_unfit).
    """
    check_names(registry)
    with opened.read() as reader:
        people = [person for person in reader.rows(PersonRecord) if person.revoked_at is None]
    known = {role for person in people for role in roles_of_person(person)}
    known |= {person.stand_in_for for person in people if person.stand_in_for}
    for operation in registry.operations.values():
        if operation.receiver not in registry.receivers:
            raise Refused("unknown_receiver", name=operation.name, receiver=operation.receiver)
    for owner in sorted(owners_of(registry) | roles_of(registry)):
        if owner not in known:
            raise Refused("unknown_owner", where=f"The application {registry.name}", owner=owner)
