"""A desk over a ledger that is filled by hand: each act with a state in which it would succeed for who may do it."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
from pydantic import BaseModel

from counterfoil.app import App
from counterfoil.app.access import Actor
from counterfoil.app.desk import Desk
from counterfoil.app.registration import workflow_from
from counterfoil.engine.administration import AddPerson, RevokePerson, SuspendWrites, begin_restore
from counterfoil.engine.clock import process_id
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.port import Run
from counterfoil.engine.reviews import Answer
from counterfoil.engine.waits import StoreSignal
from counterfoil.model.access import Act
from counterfoil.model.budget import Budget
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.model.run import ParkReason
from counterfoil.rules.permissions import ABOUT_RUNS
from tests.unit.opened_ledger import HOUR, LOOKED_UP, Filled, SetClock, opened

Doing = Callable[[Desk], Coroutine[Any, Any, Any]]
REFUSALS = frozenset(
    {"not_permitted", "role_missing", "not_found", "unknown_workflow", "session_over", "token_invalid"}
)


STATEMENT = b"reference,amount,currency,at\nbank-1,1.20,EUR,2027-01-01T00:00:00Z\n"


class Request(BaseModel):
    number: str


async def refund(run: Run, request: Request) -> None:
    raise AssertionError("no worker here")


class Stage:
    """One run `run-1` of the workflow refund with one operation `op-1` named pay, owned by ops, asked of approver."""

    def __init__(self, filled: Filled) -> None:
        self.filled = filled
        registry = filled.opened.registry
        if not registry.workflows:
            budget = Budget(attempts=1, elapsed=timedelta(days=1), spend_usd=1, owner="ops")
            registry.add_workflow(workflow_from(refund, 1, budget))
        self.app = App("refunds")
        self.app.registry, self.app.clock = registry, filled.clock
        # Opened already, by hand and with a clock that stands.
        self.app._opened, self.app._process = filled.opened, process_id()

    @property
    def here(self) -> str:
        return self.filled.opened.installation_id

    def person(self, name: str, *roles: str, stand_in_for: str | None = None) -> Actor:
        self.filled.ask(AddPerson(self.here, name, roles, "scrypt$00$00", stand_in_for))
        return self.app.access.in_development(name)

    def revoke(self, name: str) -> None:
        self.filled.ask(RevokePerson(self.here, name))

    def grant(self, role: str, verb: str, **parts: Any) -> None:
        asyncio.run(self.app.access.grants.grant(role, verb, **parts))

    def token(self, person: str, **scope: Any) -> Actor:
        made = asyncio.run(self.app.access.tokens.create(person, name="t", expires_in=timedelta(days=1), **scope))
        return self.app.access.by_token(made["token"])

    day = timedelta(days=1)

    @property
    def nobody(self) -> Actor:
        """eve, who holds no role."""
        return self.app.access.in_development("eve")

    def written(self) -> str:
        """A digest of everything that the database file holds, sessions and workers included."""
        digest = hashlib.sha256()
        connection = apsw.Connection(str(self.filled.opened.location), flags=apsw.SQLITE_OPEN_READONLY)
        for (table,) in list(connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")):
            for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid'):
                digest.update(repr((table, row)).encode())
        connection.close()
        return digest.hexdigest()

    # ------------------------------------------------------------------ states

    def proposed(self) -> str:
        self.filled.submitted().claimed().prepared()
        return self.filled.asked().digest

    def approved(self) -> None:
        digest = self.proposed()
        review, filled = self.filled.reviews()[-1], self.filled
        filled.ask(Answer(filled.run_id, review.review_id, filled.operation_id, "ana", True, digest, "", False))

    def doubted(self) -> int:
        self.approved()
        self.filled.answered(self.filled.in_flight(), status=None)
        self.filled.clock.now += 30 * HOUR
        operation = self.filled.advanced()
        self.filled.parked(ParkReason.OUTCOME_UNKNOWN)
        return operation.version

    def parked(self, reason: ParkReason) -> None:
        self.proposed()
        self.filled.parked(reason)

    def contradicted(self) -> None:
        self.approved()
        filled = self.filled
        filled.answered(filled.in_flight(), status=None)
        found = [{"reference": name, "digest": None, "receipt": {"reference": name}} for name in ("a", "b")]
        filled.ask(RecordLookup(filled.run_id, filled.target(), filled.clock.now, 1, found, True, None))
        filled.parked(ParkReason.DUPLICATE_FOUND)

    def restored(self) -> None:
        with self.filled.opened.read() as reader:
            verb = begin_restore(reader, "ana: it is old", by="ana")
        self.filled.ask(verb)

    def stopped(self) -> None:
        self.proposed()
        self.filled.ask(SuspendWrites(self.here, "all", "ana", "fire"))

    # ------------------------------------------------------------------ acts

    def doing(self, act: Act) -> Doing:
        """Bring the ledger to where the act is possible, and give the act."""
        match act:
            case Act.READ:
                self.doubted()
                return lambda desk: at_once(lambda: read_whole(desk))
            case Act.SUBMIT:
                return lambda desk: desk.runs.submit("refund", {"number": "R-8"}, request_id="r-2")
            case Act.ANSWER:
                digest = self.proposed()
                return lambda desk: desk.reviews.approve("rev-1", digest=digest)
            case Act.WITHDRAW:
                self.approved()
                return lambda desk: desk.reviews.withdraw("rev-1")
            case Act.RESOLVE:
                version = self.doubted()
                return lambda desk: desk.operations.resolve(
                    "op-1", as_="failed", reason="the desk says so", evidence=b"letter", expect_version=version
                )
            case Act.LOOKUP:
                self.doubted()
                return lambda desk: desk.operations.lookup("op-1")
            case Act.CLOSE_INCIDENT:
                self.contradicted()
                return lambda desk: desk.incidents.close("inc-1", reason="b was deleted there")
            case _:
                return self._to_a_run(act) if act in ABOUT_RUNS else self._to_the_installation(act)

    def _to_a_run(self, act: Act) -> Doing:
        match act:
            case Act.RESUME:
                self.parked(ParkReason.NO_PROGRESS)
                return lambda desk: desk.runs.resume("run-1")
            case Act.RAISE:
                self.parked(ParkReason.BUDGET_ATTEMPTS)
                return lambda desk: desk.runs.resume("run-1", raises={"attempts": 9})
            case Act.RETRY:
                self.parked(ParkReason.STEP_FAILED)
                return lambda desk: desk.runs.retry("run-1")
            case Act.CANCEL:
                self.proposed()
                return lambda desk: desk.runs.cancel("run-1")
            case Act.SIGNAL:
                self.proposed()
                return lambda desk: desk.signals.send("run-1", "paid", {"n": 1}, signal_id="sig-1")
            case Act.TEND:
                self.parked(ParkReason.NO_PROGRESS)
                return lambda desk: desk.inbox.comment("run-1", text="I look at it")
            case _:
                raise AssertionError(act)

    def _to_the_installation(self, act: Act) -> Doing:
        match act:
            case Act.SUSPEND_WRITES:
                return lambda desk: desk.writes.suspend(all_=True, reason="fire")
            case Act.RESUME_WRITES:
                self.stopped()
                return lambda desk: desk.writes.resume(all_=True, reason="it is out")
            case Act.FINISH_RESTORE:
                self.restored()
                return lambda desk: desk.restore.finish(as_="restored", reason="nobody else sends")
            case Act.IMPORT_STATEMENT:
                return lambda desk: desk.money.reconcile(STATEMENT, name="june.csv", receiver="bank")
            case Act.EXPORT_AUDIT:
                return lambda desk: at_once(lambda: "".join(desk.audit.export()))
            case Act.ADMINISTER:
                return lambda desk: desk.people.add("new", roles=("clerk",), secret="s3cret")
            case _:
                raise AssertionError(act)


def signal(on: Stage, name: str, **payload: str) -> StoreSignal:
    return StoreSignal(on.filled.run_id, f"sig-{name}", name, compact(payload))


async def at_once(body: Callable[[], Any]) -> Any:
    """A noun's reading, as a coroutine like its acts."""
    return body()


def read_whole(desk: Desk) -> None:
    """The run with everything in it; that a part is withheld counts as refused."""
    if desk.runs.show("run-1")["withheld"]:
        raise Refused("not_permitted", name=desk.actor.person, act="read")


def outcome(body: Callable[[], Coroutine[Any, Any, Any]]) -> str:
    """`done`, or the code of the refusal."""
    try:
        asyncio.run(body())
    except Refused as refused:
        return refused.code
    return "done"


def texts(value: Any) -> str:
    return json.dumps(value, default=str)


@contextmanager
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A receiver that can be asked, so that incidents arise; ana and oscar hold approver and ops, eve no role."""
    clock = SetClock()
    with opened(tmp_path, clock=clock, contract=LOOKED_UP) as here:
        yield Stage(Filled(here, clock, contract=LOOKED_UP))
