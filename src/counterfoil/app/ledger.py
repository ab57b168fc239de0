"""The ledger alone: an operation from anybody's function, without a workflow of one's own."""

import threading
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from counterfoil.app.driven import driven
from counterfoil.app.holding import holding
from counterfoil.app.located import located
from counterfoil.app.registration import check_owners
from counterfoil.app.submitted import unresolved
from counterfoil.engine.call_perform import receipt_of
from counterfoil.engine.definitions import Operation, Registry, Workflow, dumped, loaded, signature_of
from counterfoil.engine.opened import Opened
from counterfoil.engine.port import Run
from counterfoil.engine.presence import Presence, leave, shared
from counterfoil.engine.submission import submission
from counterfoil.model import ids
from counterfoil.model.budget import Budget
from counterfoil.model.codec import BODY_LIMIT, compact, parsed
from counterfoil.model.errors import Refused, ReviewRejected, StepFailed, failure_from
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.people import owner_of
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import ParkReason, RunRecord

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
        try:
            receipt = await run.perform(operation, payload)
        except ReviewRejected as rejected:
            # Nobody here makes a next version: the run ends, what was never sent is withdrawn, and the business key is free
            # for what the caller asks instead.
            raise Refused("ledger_rejected", reviewer=rejected.reviewer, comment=rejected.comment) from rejected
        plain = dumped(signature.result, receipt, where=f"the receipt of {operation.name}")
        # Of a long one the run shows what identifies it. The caller is given the receipt itself.
        return plain if len(compact(plain)) <= BODY_LIMIT else {"reference": receipt.reference}

    return Workflow(NAME, 1, ledger, Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=0, owner=""))


class Ledger:
    """Performs operations for request handlers, graph nodes and activities. Rule 13 is not promised here."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._presence: tuple[Opened, Presence] | None = None
        self._lock = threading.Lock()

    async def perform(self, operation: Operation[P, R], payload: P, *, identity: str) -> R:
        """Once per identity, whatever crashes, in as many processes as ask at once.

        Raises OperationFailed (the receiver refused it), ReviewRejected (a person did: nothing was sent), Unresolved (in doubt,
        or a person is asked: do not send again) or Refused. The same identity with other content is Refused(identity_conflict).
        Ask again with the same identity and content once it is resolved: the receipt is the answer. Where this code cannot read
        the receipt of what has happened, Refused(invalid_payload) says so.
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
        run = await driven(opened, self._shared(opened), verb.run_id, NAME)
        if run.run_id != verb.run_id:
            raise unresolved(opened, run)
        succeeded = _succeeded(opened, run)
        if succeeded is not None:
            # Whatever became of the run: what has happened must never be heard as a failure.
            return receipt_of(opened, operation, succeeded)
        raise _failure_of(opened, run) or unresolved(opened, run)

    def knows(self, identity: str) -> bool:
        """Whether this identity was ever performed by, here or in another process."""
        opened = self._app.open()
        with opened.read() as reader:
            return reader.get(RunRecord, ids.run_id(opened.installation_id, NAME, identity)) is not None

    def close(self) -> None:
        """Its application is closed: nobody performs here any more."""
        with self._lock:
            presence, self._presence = self._presence, None
        if presence is not None:
            leave(*presence)

    def _shared(self, opened: Opened) -> Presence:
        """One for every call, from any thread."""
        with self._lock:
            if self._presence is None or self._presence[0] is not opened:
                self._presence = (opened, shared(opened))
            return self._presence[1]

    def holding(self, name: str) -> AbstractContextManager[None]:
        """While the block is open nobody else holds this name, in any process: for what must go on in one place only.

        It is freed however its holder ends, and no time is involved. Raises Refused(held_elsewhere), at once.
        """
        return holding(self._app.open(), located(self._app.db), name)


def _succeeded(opened: Opened, run: RunRecord) -> OperationRecord | None:
    with opened.read() as reader:
        found = reader.find(OperationRecord, "run_id", run.run_id)
    return next((operation for operation in found if operation.status is OperationStatus.SUCCEEDED), None)


def _failure_of(opened: Opened, run: RunRecord) -> StepFailed | None:
    """What is known to have gone wrong. None: nothing is; a person is asked."""
    facts: dict[str, Any] = parsed(run.failure) if run.failure else {}
    if facts.get("code") == "ledger_rejected":
        return _rejection(opened, run)
    known = "code" in facts and (run.state.ended or run.reason == ParkReason.STEP_FAILED)
    return failure_from(facts) if known else None


def _rejection(opened: Opened, run: RunRecord) -> ReviewRejected:
    with opened.read() as reader:
        reviews = [r for r in reader.find(ReviewRecord, "run_id", run.run_id) if r.state is ReviewState.REJECTED]
    review = reviews[-1]
    return ReviewRejected(review.review_id, review.reviewer or "", review.comment or "", bool(review.ask_revision))
