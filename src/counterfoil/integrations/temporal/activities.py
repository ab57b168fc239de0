"""The activities: each asks the ledger first. Temporal may repeat them as it likes; what they do is done once."""

import asyncio
from collections.abc import Callable
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from counterfoil.engine.definitions import Registry
from counterfoil.engine.submission import submission
from counterfoil.engine.waits import StoreSignal
from counterfoil.integrations.temporal.carrying import KINDS
from counterfoil.integrations.temporal.hand import Hand
from counterfoil.integrations.temporal.identity import in_ledger
from counterfoil.integrations.temporal.messages import Begin, Begun, Call, End, Incoming, Recall, Said
from counterfoil.integrations.temporal.recalling import known_of
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.model.origin import Origin
from counterfoil.model.run import RunRecord

BEGIN, END, STORE = "counterfoil.begin", "counterfoil.end", "counterfoil.store_signal"
FIRST, RECALL = "counterfoil.first_run", "counterfoil.recall"


def activity_of(kind: str) -> str:
    """The activity type of a kind of call."""
    return f"counterfoil.{kind}"


class Activities:
    """All activities of a worker. `hand` gives the ledger's hand in this process, once the worker runs."""

    def __init__(self, registry: Registry, hand: Callable[[], Hand]) -> None:
        self._registry = registry
        self._hand = hand

    def all(self) -> list[Callable[..., Any]]:
        """What a worker of Temporal is given."""
        calls = [activity.defn(name=activity_of(kind))(self._calling()) for kind in KINDS]
        return [*calls, self.begin, self.recall, self.end, self.store, self.first_run]

    @activity.defn(name=BEGIN)
    async def begin(self, begin: Begin) -> Begun:
        """Find or store the run. The same workflow finds the same one, whichever of its executions asks."""
        opened = self._hand().opened
        workflow = in_ledger(self._registry.workflows[begin.workflow, begin.version])
        origin = Origin(begin.namespace, begin.workflow_id, begin.first_run_id)
        verb = submission(
            opened.installation_id, workflow, begin.input, origin.request_id, opened.deadlines, by=begin.by
        )
        await _written(self._hand(), verb)
        with opened.read() as reader:
            run = reader.get(RunRecord, verb.run_id)
        assert run is not None, "it is stored"
        known, more = known_of(opened, run) if begin.generation else ({}, None)
        return Begun(run.run_id, run.created_at, known, more)

    @activity.defn(name=RECALL)
    async def recall(self, recall: Recall) -> Begun:
        """The rest of what the record answers."""
        opened = self._hand().opened
        with opened.read() as reader:
            run = reader.get(RunRecord, recall.run_id)
        assert run is not None, "it is stored"
        known, more = known_of(opened, run, after=recall.after)
        return Begun(run.run_id, run.created_at, known, more)

    @activity.defn(name=END)
    async def end(self, end: End) -> Said:
        """The end that the function came to: stored, or what it waits for."""
        return await _beating(self._hand().end(end))

    @activity.defn(name=STORE)
    async def store(self, signal: Incoming) -> None:
        """A signal of Temporal: stored first, matched later."""
        verb = StoreSignal(signal.run_id, signal.signal_id, signal.name, compact(signal.payload))
        await _written(self._hand(), verb)

    @activity.defn(name=FIRST)
    async def first_run(self, workflow_id: str) -> str:
        """The first execution's run id of a workflow that was started before."""
        described = await self._hand().client.get_workflow_handle(workflow_id).describe()
        return described.raw_info.first_run_id

    def _calling(self) -> Any:
        async def call(given: Call) -> Said:
            return await _beating(self._hand().carry_out(given))

        return call


async def _written(hand: Hand, verb: Any) -> None:
    """A refusal is final: another try of the activity would be refused as well."""
    try:
        await hand.opened.write(verb)
    except Refused as refused:
        raise ApplicationError(refused.message, type=refused.code, non_retryable=True) from refused


async def _beating(body: Any) -> Any:
    """Show Temporal that this activity lives: a worker that was killed is missed after the heartbeat's time, not the call's."""
    timeout = activity.info().heartbeat_timeout
    every = timeout.total_seconds() / 3 if timeout is not None else 10.0
    part = asyncio.ensure_future(body)
    while True:
        done, _ = await asyncio.wait({part}, timeout=every)
        if done:
            return part.result()
        activity.heartbeat()
