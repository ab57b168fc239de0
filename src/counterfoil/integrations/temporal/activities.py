"""The activities: each asks the ledger first. Temporal may repeat them as it likes; what they do is done once."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from counterfoil.engine.definitions import Registry
from counterfoil.engine.opened import Opened
from counterfoil.engine.submission import child_submission, submission
from counterfoil.engine.submit import Submit
from counterfoil.engine.waits import StoreSignal
from counterfoil.integrations.temporal.carrying import KINDS, check_reachable
from counterfoil.integrations.temporal.hand import Hand
from counterfoil.integrations.temporal.identity import in_ledger
from counterfoil.integrations.temporal.messages import Begin, Begun, Call, End, Incoming, Recall, Said
from counterfoil.integrations.temporal.recalling import known_of
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.model.origin import Origin
from counterfoil.model.run import RunRecord
from counterfoil.store.port import StorageError

BEGIN, END, STORE = "counterfoil.begin", "counterfoil.end", "counterfoil.store_signal"
RECALL = "counterfoil.recall"
UNKNOWN_RUN = "unknown_run"  # the ledger does not hold it: a restore came between


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
        return [*calls, self.begin, self.recall, self.end, self.store]

    @activity.defn(name=BEGIN)
    async def begin(self, begin: Begin) -> Begun:
        """Find or store the run. The same workflow finds the same one, whichever of its executions asks."""
        opened = self._hand().opened
        verb = self._submission(opened, begin)
        await _written(self._hand(), verb)
        with opened.read() as reader:
            run, installation = reader.get(RunRecord, verb.run_id), reader.installation
        assert run is not None and installation is not None, "it is stored"
        begun = Begun(run.run_id, run.created_at, sequence=run.sequence, incarnation=installation.incarnation)
        if not begin.generation:
            return begun
        known, more = await asyncio.to_thread(known_of, opened, run)
        return replace(begun, known=known, more=more)

    def _submission(self, opened: Opened, begin: Begin) -> Submit:
        """A child is its parent's, whoever stores it: the parent did, unless a restore has lost it."""
        workflow = in_ledger(self._registry.workflows[begin.workflow, begin.version])
        origin = Origin(begin.namespace, begin.workflow_id, "" if begin.submitted else begin.first_run_id)
        installation, request_id = opened.installation_id, origin.request_id
        try:
            if begin.parent is None:
                return submission(installation, workflow, begin.input, request_id, opened.deadlines, by=begin.by)
            parent_id, position = begin.parent
            with opened.read() as reader:
                parent = reader.get(RunRecord, parent_id)
            if parent is None:  # it begins anew as well: then its children are found
                raise ApplicationError(
                    f"The ledger does not hold run {parent_id}, which began this one.", type=UNKNOWN_RUN
                )
            return child_submission(
                installation, workflow, begin.input, request_id, opened.deadlines, parent=parent, position=position,
                driven=False,
            )  # fmt: skip
        except StorageError:
            raise
        except Refused as refused:
            raise _final(refused) from refused

    @activity.defn(name=RECALL)
    async def recall(self, recall: Recall) -> Begun:
        """The rest of what the record answers."""
        opened = self._hand().opened
        with opened.read() as reader:
            run = reader.get(RunRecord, recall.run_id)
        assert run is not None, "it is stored"
        known, more = await asyncio.to_thread(known_of, opened, run, after=recall.after)
        return Begun(run.run_id, run.created_at, known, more)

    @activity.defn(name=END)
    async def end(self, end: End) -> Said:
        """The end that the function came to: stored, or what it waits for."""
        return await _beating(self._hand().end(end, _asker()))

    @activity.defn(name=STORE)
    async def store(self, signal: Incoming) -> None:
        """A signal of Temporal: stored first, matched later."""
        with self._hand().opened.read() as reader:
            known = reader.get(RunRecord, signal.run_id)
        if known is None:
            raise ApplicationError("The ledger does not hold this run.", type=UNKNOWN_RUN, non_retryable=True)
        verb = StoreSignal(signal.run_id, signal.signal_id, signal.name, compact(signal.payload))
        await _written(self._hand(), verb)

    def _calling(self) -> Any:
        async def call(given: Call) -> Said:
            hand = self._hand()
            self._check(hand, given)
            return await _beating(hand.carry_out(given, _asker()))

        return call

    def _check(self, hand: Hand, given: Call) -> None:
        """Before the run is claimed: what this worker cannot do is left to another, and Temporal asks again. It is no failure of
        the call. Where nobody ever comes, the run's deadline tells a person."""
        if hand.is_quiet:
            raise ApplicationError("This worker was asked to take up nothing more.", type="quiet")
        try:
            check_reachable(self._registry, given.arguments)
        except Refused as refused:
            raise ApplicationError(refused.message, type=refused.code) from refused


def _asker() -> str:
    """The run id of the execution that asks: a reset and a retry have another one."""
    return activity.info().workflow_run_id or ""


async def _written(hand: Hand, verb: Any) -> None:
    """A refusal is final: another try of the activity would be refused as well."""
    try:
        await hand.opened.write(verb)
    except StorageError:  # never an outcome: it is tried again
        raise
    except Refused as refused:
        raise _final(refused) from refused


def _final(refused: Refused) -> ApplicationError:
    return ApplicationError(refused.message, type=refused.code, non_retryable=True)


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
