"""What an application declares: receivers, operations, workflows, documents, and the budgets that runs share."""

import builtins
from collections.abc import Callable
from typing import Any, Literal

from counterfoil.app.decorators import OperationDecorator, WorkflowDecorator
from counterfoil.app.limits_declared import check_limits
from counterfoil.app.registration import document_from, operation_from, workflow_from
from counterfoil.app.slots_declared import WorkflowLimits, check_slots
from counterfoil.app.webhooks.declared import check_webhook
from counterfoil.engine.definitions import (
    DEFAULT_QUEUE,
    Bearer,
    Env,
    Operation,
    ReceiverDefinition,
    Registry,
    SignedBy,
    Workflow,
)
from counterfoil.engine.document import D, Document
from counterfoil.model.breaker import Breaker
from counterfoil.model.budget import Budget, SharedBudget
from counterfoil.model.contract import Contract
from counterfoil.model.errors import Refused
from counterfoil.model.people import Owner
from counterfoil.model.review import ReviewBy
from counterfoil.model.slots import Partition, Rate


class Declaring:
    """The part of an App that fills its registry. Unsafe declarations are refused at once, with a code."""

    registry: Registry

    def receiver(
        self,
        name: str,
        *,
        url: str | Env,
        credential: Bearer | None = None,
        environment: Literal["test", "live"],
        concurrency: int | None = None,
        rate: Rate | None = None,
        webhook: SignedBy | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        """Declare an outside system. `concurrency`: attempts at once, and `rate`: attempts in a time, over all workers.

        `webhook`: how it signs what it sends by itself. `breaker`: when it is left alone for a while, because it does not
        work. Raises Refused(name_taken, limit_unfit, webhook_unfit).
        """
        if name in self.registry.receivers:
            raise Refused("name_taken", name=name)
        check_slots(name, concurrency=concurrency, rate=rate, breaker=breaker)
        if webhook is not None:
            check_webhook(name, webhook)
        self.registry.receivers[name] = ReceiverDefinition(
            name, url, credential, environment, concurrency, rate, webhook, breaker
        )

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

    def workflow(
        self,
        *,
        version: int,
        budget: Budget,
        concurrency: int | None = None,
        partition: Partition | None = None,
        queue: str = DEFAULT_QUEUE,
    ) -> WorkflowDecorator:
        """Register an async function under its name and a declared version. Raises Refused(name_taken, limit_unfit, ...).

        `concurrency`: so many of its runs are driven at once, over all workers and versions; `partition`: so many of those
        whose input agrees in a field. A run that waits is not driven. `queue`: which workers take it up.
        """

        def register(function: Callable[..., Any]) -> Workflow[Any, Any]:
            limits = WorkflowLimits(concurrency, partition, queue)
            workflow = workflow_from(function, version, budget, limits)
            self.registry.add_workflow(workflow)
            return workflow

        return register

    def document(
        self,
        name: str,
        type: builtins.type[D],
        *,
        scope: Literal["run", "conversation", "agent", "key"] = "conversation",
        default: D | None = None,
        setting: str | None = None,
    ) -> Document[D]:
        """Declare a document of the working context, of a Pydantic model's type. `scope` says who shares it.

        `default` is read until somebody writes; without one the type must have a default for each field. `setting`: the
        conversation's setting that holds the key, in the scope `key`. Raises Refused(name_taken, document_unfit).
        """
        document = document_from(name, type, scope, default, setting)
        self.registry.add_document(document)
        return document

    def budget(self, budget: SharedBudget) -> SharedBudget:
        """Declare what many runs may use together. Raises Refused(name_taken, budget_unfit)."""
        check_limits(budget.name, budget)
        self.registry.add_budget(budget)
        return budget
