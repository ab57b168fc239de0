"""What an application declares: receivers, operations, workflows, and the budgets that runs share."""

from collections.abc import Callable
from typing import Any, Literal

from counterfoil.app.decorators import OperationDecorator, WorkflowDecorator
from counterfoil.app.registration import check_limits, operation_from, workflow_from
from counterfoil.engine.definitions import Bearer, Env, Operation, ReceiverDefinition, Registry, Workflow
from counterfoil.model.budget import Budget, SharedBudget
from counterfoil.model.contract import Contract
from counterfoil.model.errors import Refused
from counterfoil.model.people import Owner
from counterfoil.model.review import ReviewBy


class Declaring:
    """The part of an App that fills its registry. Unsafe declarations are refused at once, with a code."""

    registry: Registry

    def receiver(
        self, name: str, *, url: str | Env, credential: Bearer | None = None, environment: Literal["test", "live"]
    ) -> None:
        """Declare an outside system. Raises Refused(name_taken)."""
        if name in self.registry.receivers:
            raise Refused("name_taken", name=name)
        self.registry.receivers[name] = ReceiverDefinition(name, url, credential, environment)

    def operation(
        self,
        *,
        receiver: str,
        contract: Contract,
        business_key: str | Callable[[Any], str] | None = None,
        repeatable: bool = False,
        review: ReviewBy | None = None,
        owner: Owner | str | None = None,
    ) -> OperationDecorator:
        """Register a write under a contract. Unsafe configuration is refused at start, with a code (design rule 22)."""

        def register(function: Callable[..., Any]) -> Operation[Any, Any]:
            operation = operation_from(function, receiver, contract, business_key, repeatable, review, owner)
            self.registry.add_operation(operation)
            return operation

        return register

    def workflow(self, *, version: int, budget: Budget) -> WorkflowDecorator:
        """Register an async function under its name and a declared version."""

        def register(function: Callable[..., Any]) -> Workflow[Any, Any]:
            workflow = workflow_from(function, version, budget)
            self.registry.add_workflow(workflow)
            return workflow

        return register

    def budget(self, budget: SharedBudget) -> SharedBudget:
        """Declare what many runs may use together. Raises Refused(name_taken, budget_unfit)."""
        check_limits(budget.name, budget)
        self.registry.add_budget(budget)
        return budget
