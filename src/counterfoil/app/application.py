"""The application: what a user registers, and the verbs that everyone outside calls."""

import asyncio
import importlib
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from counterfoil import settings
from counterfoil.app import doctor as doctoring
from counterfoil.app import explain as explaining
from counterfoil.app import finding, verification
from counterfoil.app.access import Access, Actor
from counterfoil.app.artifacts import Artifacts
from counterfoil.app.audit import Audit
from counterfoil.app.backups import Backups
from counterfoil.app.budgets import Budgets
from counterfoil.app.conversations import Conversations
from counterfoil.app.decisions import Decisions
from counterfoil.app.declaring import Declaring
from counterfoil.app.deployments import Deployments
from counterfoil.app.desk import Desk
from counterfoil.app.documents import Documents
from counterfoil.app.drills import Drills
from counterfoil.app.duties.beside import duties_beside
from counterfoil.app.duties.known import Duties
from counterfoil.app.evidence import Evidence
from counterfoil.app.inbox import Inbox
from counterfoil.app.incidents import Incidents
from counterfoil.app.keys import ApprovalKeys
from counterfoil.app.ledger import Ledger, ledger_workflow
from counterfoil.app.limits_declared import check_limits
from counterfoil.app.located import Located, located
from counterfoil.app.metrics import Metrics
from counterfoil.app.money import MoneyNoun
from counterfoil.app.notices import Notices
from counterfoil.app.opening import Founding, Surroundings, open_installation, open_to_look
from counterfoil.app.operations import Operations
from counterfoil.app.people import People
from counterfoil.app.receipts import Receipts
from counterfoil.app.receivers import Receivers
from counterfoil.app.registration import check_owners, named_in
from counterfoil.app.restore import Restore
from counterfoil.app.reviews import Reviews
from counterfoil.app.runs import Runs
from counterfoil.app.signals import Signals
from counterfoil.app.slots_declared import check_queues
from counterfoil.app.submitted import Submitted
from counterfoil.app.workers import Workers
from counterfoil.app.writes import Writes
from counterfoil.engine.asking import Versions
from counterfoil.engine.boundaries import Boundaries, crash_point
from counterfoil.engine.clock import Chance, Clock, SystemClock, process_id
from counterfoil.engine.definitions import (
    Operation,
    Registry,
    Workflow,
    dumped,
    signature_of,
)
from counterfoil.engine.isolation import Isolate
from counterfoil.engine.opened import Opened
from counterfoil.engine.submission import refuse_turn, submission
from counterfoil.engine.verb import Deadlines
from counterfoil.engine.worker import Worker
from counterfoil.model.budget import Budget
from counterfoil.model.errors import Refused
from counterfoil.rules.gate import Gate

if TYPE_CHECKING:
    from counterfoil.agents.agent import DurableAgent

I = TypeVar("I")
O = TypeVar("O")


class App(Declaring):
    """Opens nothing until a worker or a verb needs it. `db` is as `--db`.

    The nouns (`runs`, `operations`, `reviews`, `people`, ...) hold the verbs of the command line.
    """

    def __init__(self, name: str, *, db: str | None = None) -> None:
        self.name = name
        self.db = db
        self.registry = Registry(name)
        self.registry.add_workflow(ledger_workflow(self.registry))
        self.clock: Clock = SystemClock()
        self.boundaries = Boundaries()
        self.agents: dict[str, DurableAgent] = {}
        self._opened: Opened | None = None
        self._process = 0
        self.ledger = Ledger(self)
        self.artifacts = Artifacts(self.open)
        self.runs = Runs(self.open)
        self.budgets = Budgets(self.open)
        self.operations = Operations(self.open)
        self.reviews = Reviews(self.open)
        self.people = People(self.open)
        self.keys = ApprovalKeys(self.open)
        self.money = MoneyNoun(self.open)
        self.decisions = Decisions(self.open)
        self.signals = Signals(self.open)
        self.conversations = Conversations(self.open)
        self.documents = Documents(self.open)
        self.incidents = Incidents(self.open)
        self.inbox = Inbox(self.open)
        self.audit = Audit(self.open)
        self.writes = Writes(self.open)
        self.drills = Drills(self.open)
        self.restore = Restore(self.open, lambda: self.open(attested=True))
        self.workers = Workers(self.open)
        self.receivers = Receivers(self.open)
        self.receipts = Receipts(self.open)
        self.duties = Duties(self.open)
        self.notices = Notices(self.open)
        self.evidence = Evidence(self.open)
        self.access = Access(self.open, lambda: named_in(self.registry))
        self.metrics = Metrics(self.open)
        self.deployments = Deployments(self.registry, self.open, lambda: self._looking(located(self.db)))
        self.backups = Backups(self.open, lambda: located(self.db), self._looking)

    # ------------------------------------------------------------------ registering

    def agent(  # noqa: PLR0913 - what an agent is, each by keyword
        self,
        name: str,
        *,
        agent: Any,
        budget: Budget,
        version: int = 1,
        prompt_version: str = "1",
        policy_version: str | None = None,
        operations: "Sequence[Operation[Any, Any] | DurableAgent]" = (),
        safe: Collection[str] = (),
        deps: Callable[[], Any] | None = None,
    ) -> "DurableAgent":
        """Make an agent of Pydantic AI durable: each accepted message is a run of the workflow of this name.

        `operations` are given to the model as tools, and so are other agents, whose turns are runs of their own; `safe` names
        tools that may run again; `deps` makes the agent's deps; the versions of its prompt, and of the rules it is to go by,
        are kept with each decision. Raises Refused: name_taken, budget_unfit, no_reviewer,
        two_reviews, external_tool.
        """
        from counterfoil.agents.agent import durable_agent

        check_limits(name, budget)
        versions = Versions(prompt_version, policy_version)
        durable = durable_agent(
            name, agent, version=version, budget=budget, versions=versions, operations=operations, safe=frozenset(safe),
            deps=deps,
        )  # fmt: skip
        self.receiver(durable.undeclared.receiver, url="", environment="test")
        for operation in durable.undeclared.operations:
            self.registry.add_operation(operation)
        self.registry.add_workflow(durable.workflow)
        self.registry.called[name, version] = durable.called
        self.agents[name] = durable
        return durable

    # ------------------------------------------------------------------ running

    def open(self, founding: Founding | None = None, *, attested: bool = False) -> Opened:
        """What is open, opened at the first call. `founding` makes the database where there is none. `attested`: a person opens it
        to begin a restore."""
        if self._opened is not None and self._process != process_id():
            self._opened = None  # a fork: the parent's connections may be neither used nor closed here
        if self._opened is None:
            self._process = process_id()
            self.boundaries.crash = self.boundaries.crash or _crash_point(settings.value_of("COUNTERFOIL_CRASH_AT"))
            around = self._around()
            where = located(self.db)
            self._opened = open_installation(
                self.registry, where, settings.state_folder(), around, founding, attested=attested
            )
        return self._opened

    def _around(self) -> Surroundings:
        return Surroundings(
            self.clock, Chance(), self.boundaries, _deadlines(), settings.environment(), _usage_of(), _gate()
        )

    @contextmanager
    def _looking(self, where: Located) -> Generator[Opened]:
        """The database, or a copy of it at any place, to be read only: nothing is compared with the outside marker."""
        opened = open_to_look(self.registry, where, self._around())
        try:
            yield opened
        finally:
            opened.close()

    def close(self) -> None:
        """Close the database. A later verb opens it again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            self.ledger.close()
            opened.close()

    async def submit(
        self, workflow: Workflow[I, O], input: I, *, request_id: str, by: str | None = None
    ) -> Submitted[O]:
        """The same request id with the same content finds the run, for ever. `by`: the person who submits it, and then
        approves nothing of it. Raises Refused(request_conflict, unknown_person, not_permitted)."""
        name, adapter = signature_of(workflow.function, skip=1).inputs[0]
        return await self._submitted(workflow, dumped(adapter, input, where=name), request_id=request_id, by=by)

    async def _submitted(
        self, workflow: Workflow[Any, Any], plain: Any, *, request_id: str, by: str | None = None
    ) -> Submitted[Any]:
        """As `submit`, with an input that is JSON already and was validated by the caller."""
        opened = self.open()
        check_owners(self.registry, opened)
        refuse_turn(workflow, plain)
        verb = submission(opened.installation_id, workflow, plain, request_id, opened.deadlines, by=by)
        admitted = await opened.write(verb)
        return Submitted(opened, workflow, verb.run_id, admitted)

    async def signal(self, run_id: str, name: str, payload: BaseModel, *, signal_id: str) -> None:
        """Stored first, matched later. The same signal id twice is one signal."""
        await self.signals.send(run_id, name, payload.model_dump(mode="json"), signal_id=signal_id)

    def worker(self) -> AbstractAsyncContextManager[None]:
        """Drives runs while the block is open."""
        return self._working()

    @asynccontextmanager
    async def _working(self) -> AsyncGenerator[None]:
        worker = self.new_worker()
        part = asyncio.create_task(worker.run())
        try:
            async with duties_beside(self):
                yield
        finally:
            worker.stop()
            await part

    def new_worker(
        self,
        *,
        only: frozenset[str] | None = None,
        isolate: Isolate | None = None,
        queues: frozenset[str] | None = None,
    ) -> Worker:
        """A worker to be run by the caller (`await worker.run()`). `isolate` starts a process for a suspect alone; `queues`:
        it takes up only workflows that declare one of them. Raises Refused(unknown_queue)."""
        opened = self.open()
        check_owners(self.registry, opened)
        check_queues(self.registry, queues)
        concurrency = int(_number("COUNTERFOIL_CONCURRENCY"))
        return Worker(opened, concurrency=concurrency, only=only, isolate=isolate, queues=queues)

    # ------------------------------------------------------------------ looking

    def desk(self, actor: Actor) -> Desk:
        """The nouns as one signed-in person sees and uses them. `app.access` makes the Actor."""
        return Desk(self, actor)

    def find(self, text: str, *, limit: int = 20) -> dict[str, Any]:
        """What a person may mean: an id, a number, a business key, a reference or a request id."""
        return finding.find(self.open, text, limit=limit)

    def explain(self, target: str | None = None) -> dict[str, Any]:
        """Per operation, and per tool of an agent, from the code, before anything runs: what a crash does with it."""
        return explaining.explain(self.registry, target, {name: durable.tools for name, durable in self.agents.items()})

    def verify(self, *, run: str | None = None) -> dict[str, Any]:
        """Recompute every chain, and rebuild every evidence table from the journal."""
        return verification.verify(self.open, run=run)

    def doctor(self, *, production: bool = False) -> dict[str, Any]:
        """The storage promise in force, read from live settings."""
        where, state = located(self.db), settings.state_folder()
        with suppress(Refused):  # a database that cannot be opened is what the doctor is asked about
            accepted = self.open().installation().marker_accepted
            return doctoring.doctor(self.open, where=where, state=None if accepted else state, production=production)
        return doctoring.doctor(self.open, where=where, state=state, production=production)


def _deadlines() -> Deadlines:
    pending, running, lease = (
        int(_number(f"COUNTERFOIL_{name}_SECONDS") * 1_000_000) for name in ("PENDING", "RUNNING", "LEASE")
    )
    return Deadlines(pending, running, lease)


def _number(name: str) -> float:
    try:
        return settings.number_of(name)
    except ValueError as problem:
        raise Refused("usage", problem=str(problem)) from problem


def _gate() -> Gate:
    text = settings.value_of("COUNTERFOIL_DRILL_GATE")
    if text not in set(Gate):
        raise Refused("usage", problem=f"COUNTERFOIL_DRILL_GATE is {text!r}; it is live or all, and never off")
    return Gate(text)


def _crash_point(text: str) -> Any:
    try:
        return crash_point(text)
    except ValueError as problem:
        raise Refused("unknown_boundary", name=str(problem)) from problem


def _usage_of() -> Any:
    from counterfoil.agents.usage import usage_of

    return usage_of


def load_app(target: str | None) -> App:
    """MODULE:NAME to an App, from the working folder or the path. Raises Refused(app_not_found)."""
    text = target or settings.value_of("COUNTERFOIL_APP")
    if not text:
        raise Refused("app_not_found", target="", problem="none is named")
    module_name, _, name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module_name), name or "app")
    except Refused:
        raise
    except (Exception, SystemExit) as problem:
        raise Refused("app_not_found", target=text, problem=f"{type(problem).__name__}: {problem}") from problem
    if not isinstance(found, App):
        raise Refused("app_not_found", target=text, problem=f"{name or 'app'} is {type(found).__name__}, not an App")
    return found
