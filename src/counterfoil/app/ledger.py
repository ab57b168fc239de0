"""The ledger alone: an operation from anybody's function, without a workflow of one's own."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from counterfoil.app.registration import check_owners
from counterfoil.app.submitted import unresolved, waits_for_person
from counterfoil.engine.definitions import Operation, Registry, Workflow, dumped, loaded, signature_of
from counterfoil.engine.port import Run
from counterfoil.engine.submission import submission
from counterfoil.engine.worker import Worker
from counterfoil.engine.writer import Touched
from counterfoil.model.budget import Budget
from counterfoil.model.codec import parsed
from counterfoil.model.errors import OperationFailed, Refused, StepFailed, failure_from
from counterfoil.model.people import owner_of
from counterfoil.model.run import ParkReason, RunRecord, RunState

if TYPE_CHECKING:
    from counterfoil.app.application import App

P = TypeVar("P")
R = TypeVar("R")
NAME = "ledger"


class Performed(BaseModel):
    """Input of the built-in workflow: which operation, with which payload (JSON)."""

    operation: str
    payload: Any


def ledger_workflow(registry: Registry) -> Workflow[Any, Any]:
    """The built-in workflow `ledger`, version 1: one operation, whose request id is the caller's identity."""

    async def ledger(run: Run, request: Performed) -> Any:
        operation = registry.operations[request.operation]
        signature = signature_of(operation.function, skip=1)
        payload = loaded(signature.inputs[0][1], request.payload, where=f"the payload of {operation.name}")
        receipt = await run.perform(operation, payload)
        return dumped(signature.result, receipt, where=f"the receipt of {operation.name}")

    return Workflow(NAME, 1, ledger, Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=0, owner=""))


class Ledger:
    """Performs operations for request handlers, graph nodes and activities. Rule 13 is not promised here."""

    def __init__(self, app: "App") -> None:
        self._app = app

    async def perform(self, operation: Operation[P, R], payload: P, *, identity: str) -> R:
        """Once per identity, whatever crashes. Raises OperationFailed, Unresolved (do not send again) or Refused.

        The same identity with other content is Refused(identity_conflict).
        """
        opened = self._app.open()
        check_owners(self._app.registry, opened)
        signature = signature_of(operation.function, skip=1)
        plain = dumped(signature.inputs[0][1], payload, where=f"the payload of {operation.name}")
        owner = operation.owner or (operation.review.owner if operation.review else "")
        builtin = self._app.registry.workflows[NAME, 1]
        workflow: Workflow[Any, Any] = Workflow(
            NAME, 1, builtin.function, Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=0, owner=owner_of(owner))
        )
        verb = submission(
            opened.installation_id,
            workflow,
            {"operation": operation.name, "payload": plain},
            identity,
            opened.deadlines,
        )
        try:
            await opened.write(verb)
        except Refused as refused:
            if refused.code != "request_conflict":
                raise
            details = refused.details
            raise Refused(
                "identity_conflict", identity=identity, stored=details["stored"], given=details["given"]
            ) from refused
        run = await self._driven(verb.run_id)
        if run.state is RunState.COMPLETED:
            return loaded(signature.result, parsed(run.result), where=f"the receipt of {operation.name}")
        failure = failure_from(parsed(run.failure)) if run.failure and "code" in parsed(run.failure) else None
        if isinstance(failure, OperationFailed | StepFailed) and (
            run.state.ended or run.reason == ParkReason.STEP_FAILED
        ):
            raise failure
        raise unresolved(opened, run)

    async def _driven(self, run_id: str) -> RunRecord:
        """Drive the run here, unless a worker elsewhere does; give it as it ended, or as it waits for a person."""
        opened = self._app.open()
        worker = Worker(opened, only=frozenset({run_id}))
        part = asyncio.create_task(worker.run())
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def committed(run_ids: Touched) -> None:
            if run_id in run_ids:
                loop.call_soon_threadsafe(changed.set)

        opened.listeners.add(committed)
        try:
            while True:
                changed.clear()
                with opened.read() as reader:
                    run = reader.get(RunRecord, run_id)
                    now = opened.clock.now_us()
                    over = run is not None and (run.state.ended or waits_for_person(reader, run, now))
                if run is not None and over:
                    return run
                if part.done():
                    part.result()
                await opened.clock.wait(changed, opened.clock.now_us() + 20_000)
        finally:
            opened.listeners.discard(committed)
            worker.stop()
            await part
