"""A submitted run, and its result."""

import asyncio
from typing import Any, Generic, Literal, TypeVar

from counterfoil.app.views.run import run_summary
from counterfoil.app.views.shown import Shown
from counterfoil.engine.definitions import Workflow, loaded, signature_of
from counterfoil.engine.opened import Opened
from counterfoil.engine.writer import Touched
from counterfoil.model.codec import parsed
from counterfoil.model.errors import RunFailed, Unresolved, failure_from
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Reader

O = TypeVar("O")
POLL_US = 20_000


class Submitted(Generic[O]):
    """`admitted` is new, or existing when the request id was known."""

    def __init__(
        self, opened: Opened, workflow: Workflow[Any, Any], run_id: str, admitted: Literal["new", "existing"]
    ) -> None:
        self.run_id = run_id
        self.admitted: Literal["new", "existing"] = admitted
        self._opened = opened
        self._workflow = workflow

    async def result(self) -> O:
        """Wait for the end. Raises RunFailed, or Unresolved when the run waits for a person."""
        opened = self._opened
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def committed(run_ids: Touched) -> None:
            if self.run_id in run_ids:
                loop.call_soon_threadsafe(changed.set)

        def told() -> None:
            loop.call_soon_threadsafe(changed.set)

        opened.listeners.add(committed)
        unheard = opened.database.hear(told)
        try:
            while True:
                changed.clear()
                with opened.read() as reader:
                    run = reader.get(RunRecord, self.run_id)
                    assert run is not None, "a submitted run is stored"
                    over = run.state.ended or waits_for_person(reader, run, opened.clock.now_us())
                if over:
                    return self._answer(run)
                await opened.clock.wait(changed, opened.clock.now_us() + POLL_US)
        finally:
            unheard()
            opened.listeners.discard(committed)

    def _answer(self, run: RunRecord) -> O:
        if run.state is RunState.COMPLETED:
            adapter = signature_of(self._workflow.function, skip=1).result
            return loaded(adapter, parsed(run.result), where=f"the result of {run.workflow}")
        if run.state.ended:
            failure: dict[str, Any] = parsed(run.failure) or {}
            if "code" in failure and failure.get("type") not in (None, "Refused"):
                raise RunFailed(run.run_id, run.state.value, failure.get("message", "")) from failure_from(failure)
            raise RunFailed(run.run_id, run.state.value, failure.get("message", ""))
        raise unresolved(self._opened, run)


def waits_for_person(reader: Reader, run: RunRecord, now: int) -> bool:
    """Parked, or waiting for a review that nobody has answered, or for a child that stands so.

    An answer makes the run due at once, and so does a cancel. What is held for want of a slot goes on by itself.
    """
    if run.held_for is not None:
        return False
    if reader.installation is not None:
        now = max(
            now, reader.installation.clock_us
        )  # after a wall clock that went back the database is ahead of this host
    if run.state is RunState.WAITING and run.due_at is not None and run.due_at <= now:
        return False
    if run.state is RunState.WAITING and run.reason == "review":
        return True
    if run.state is RunState.WAITING and run.reason == "child":
        children = reader.find(RunRecord, "parent_run_id", run.run_id)
        return any(waits_for_person(reader, child, now) for child in children)
    return run.state is RunState.PARKED


def unresolved(opened: Opened, run: RunRecord) -> Unresolved:
    """What a caller is told about a run that only a person moves, with the command that moves it."""
    with opened.read() as reader:
        operations = reader.find(OperationRecord, "run_id", run.run_id)
        summary = run_summary(Shown.of(opened, reader), run)
    doubts = [o for o in operations if o.status in (OperationStatus.UNKNOWN, OperationStatus.IN_FLIGHT)]
    operation = doubts[0] if doubts else operations[-1] if operations else None
    command = summary["next_action"]["command"] or f"counterfoil runs show {run.run_id}"
    return Unresolved(
        run.run_id, operation.operation_id if operation else None, command,
        sentence=run.sentence, uncertain=summary["uncertain"], next_action=summary["next_action"] | {"command": command},
    )  # fmt: skip
