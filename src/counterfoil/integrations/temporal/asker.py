"""Who asks for a call: an activity, of one execution of a workflow. What is done for it ends with it."""

import asyncio

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from counterfoil.engine.runner import Runner
from counterfoil.model.origin import Origin
from counterfoil.model.run import RunRecord

FRESH_US = 1_000_000  # an activity that has just come is one that Temporal wants; later it must be asked


class GivenUp(Exception):
    """Nobody asks for this call any more. If somebody does all the same, Temporal's next try is heard."""


class Asker:
    """`execution` is its run id in Temporal, None where our own hand asks. `gone` is set when its activity was given up."""

    def __init__(self, execution: str | None, since: int) -> None:
        self.execution = execution
        self.gone = asyncio.Event()
        self.waited = False  # for its claim: whoever asks may be over meanwhile
        self._since = since
        self._runner: Runner | None = None

    def give_up(self) -> None:
        """Nothing new begins for it. What is on its way to a receiver is waited for, and recorded."""
        self.gone.set()
        if self._runner is not None:
            self._runner.drain()

    def drives(self, runner: Runner) -> None:
        """What is carried out for it from here on."""
        self._runner = runner
        if self.gone.is_set():
            runner.drain()

    def must_live(self) -> None:
        """Raises GivenUp."""
        if self.gone.is_set():
            raise GivenUp("its activity was given up")

    def is_known(self, run: RunRecord, now: int) -> bool:
        """Whether its execution needs no look: it asked last, or is the first to ask, and has just asked."""
        if self.execution is None:
            return True
        return run.asked_by in (None, self.execution) and not self.waited and now - self._since < FRESH_US

    async def is_under_way(self, client: Client, run: RunRecord) -> bool:
        """Whether Temporal says that its execution is open. Terminated, reset or continued as new it asks for nothing more."""
        origin = Origin.of(run.workflow, run.request_id)
        if origin is None or self.execution is None:
            return False
        try:
            described = await client.get_workflow_handle(origin.workflow_id, run_id=self.execution).describe()
        except RPCError as problem:
            if problem.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False
        return described.status is WorkflowExecutionStatus.RUNNING
