"""A real database in a folder, opened as an application opens it, with a clock that a test moves, and verbs to fill it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from counterfoil.app.located import InFile
from counterfoil.app.opening import Founding, Surroundings, open_installation
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.advance import Advance, OpenReview
from counterfoil.engine.attempts import EndAttempt, MarkInFlight
from counterfoil.engine.boundaries import Boundaries
from counterfoil.engine.clock import Chance
from counterfoil.engine.definitions import Operation, ReceiverDefinition, Registry
from counterfoil.engine.finish import Park
from counterfoil.engine.leases import Claim
from counterfoil.engine.opened import Opened, no_usage
from counterfoil.engine.proposals import Intent, Prepare, Propose
from counterfoil.engine.situation import Target, target_of
from counterfoil.engine.submit import Submit
from counterfoil.engine.verb import Deadlines
from counterfoil.model import ids
from counterfoil.model.codec import compact, payload_digest
from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, Meaning, When
from counterfoil.model.exchange import Exchange
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewBy, ReviewRecord
from counterfoil.model.run import ParkReason, RunRecord

SECOND = 1_000_000
HOUR = 3600 * SECOND
START = 1_800_000_000 * SECOND
SECRETS = {"ana": "ana's secret", "oscar": "oscar's secret", "eve": "eve's secret"}
OWNER = {"name": "ops", "within_us": 24 * HOUR, "then": "head"}
REVIEW = {"role": "approver", "expires_us": 8 * HOUR, "owner": OWNER}
SCOPE = "sha256:scope"
PAYLOAD = {"number": "R-7", "amount": 120}


@cache
def _hash_of(name: str) -> str:
    """scrypt is slow on purpose; once for each person is enough here."""
    return hashed(SECRETS[name], "00" * 16)


class Refund(BaseModel):
    number: str
    amount: int


def find(ask: object, payload: Refund) -> Any:
    raise AssertionError("no test asks this receiver")


async def pay(call: object, refund: Refund) -> Receipt:
    raise AssertionError("no test sends")


KEYED = Contract(
    api_version="1",
    key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24)),
    classifier=[When(status="2xx").means("applied"), When(status=400).means("refused")],
    procedure="Ask the payment desk.",
)
KEYLESS = replace(KEYED, key=None)
LOOKED_UP = replace(KEYED, key=None, lookup=Lookup(find, consistency="strong"))


@dataclass
class SetClock:
    """Time stands until a test moves it."""

    now: int = START

    def now_us(self) -> int:
        return self.now

    def boot_us(self) -> int:
        return self.now

    async def wait(self, changed: asyncio.Event, until_us: int | None) -> bool:
        raise AssertionError("no test here waits")


def registry(contract: Contract = KEYED) -> Registry:
    made = Registry("refunds")
    made.receivers["bank"] = ReceiverDefinition("bank", "http://127.0.0.1:9", None, "test")
    review = ReviewBy(role="approver", expires_in=timedelta(hours=8), owner="ops")
    made.add_operation(Operation("pay", pay, "bank", contract, "number", False, review, None))
    return made


@contextmanager
def opened(
    tmp_path: Path, *, clock: SetClock | None = None, contract: Contract = KEYED, single_person: bool = False
) -> Iterator[Opened]:
    """The installation in `tmp_path/data`, its marker in `tmp_path/state`; made with ana, oscar and eve at the first call."""
    (tmp_path / "data").mkdir(exist_ok=True)
    people = tuple(
        NewPerson(name, roles, _hash_of(name))
        for name, roles in (("ana", ("approver", "ops")), ("oscar", ("approver", "ops")), ("eve", ()))
    )
    around = Surroundings(clock or SetClock(), Chance(7), Boundaries(), Deadlines(), {}, no_usage)
    here = open_installation(
        registry(contract),
        InFile(tmp_path / "data" / "ledger.db"),
        tmp_path / "state",
        around,
        Founding(single_person, people=people),
    )
    try:
        yield here
    finally:
        here.close()


@dataclass
class Filled:
    """One run of the workflow `refund`, driven by hand through verbs."""

    opened: Opened
    clock: SetClock
    contract: Contract = KEYED
    request_id: str = "r-1"
    run_id: str = ""
    fence: int = 0
    operation_id: str = ""
    positions: int = field(default=0)

    def ask(self, verb: Any) -> Any:
        return self.opened.writer.ask(verb)

    def submitted(self) -> "Filled":
        budget = {"attempts": 5, "elapsed_us": 48 * HOUR, "spend_micros": 3_000_000, "owner": OWNER}
        self.run_id = ids.run_id(self.opened.installation_id, "refund", self.request_id)
        text = compact({"number": "R-7"})
        verb = Submit(
            self.run_id,
            "refund",
            1,
            self.request_id,
            text,
            payload_digest({"number": "R-7"}),
            budget,
            self.opened.deadlines,
        )
        assert self.ask(verb) == "new"
        return self

    def claimed(self) -> "Filled":
        run: RunRecord = self.ask(Claim(self.run_id, "wrk_1", self.opened.deadlines))
        self.fence = run.fence
        return self

    def _intent(self, payload: dict[str, Any] | None = None, *, business_key: str | None = "R-7") -> Intent:
        payload = payload or PAYLOAD
        key = None if business_key is None else f"bank\x1ftest\x1fpay\x1f{business_key}"
        return Intent(
            name="pay", receiver="bank", environment="test", action="pay", api_version="1", duplicate="irreversible",
            payload=compact(payload), payload_digest=payload_digest(payload), business_key=key, repeatable=False,
            contract_digest=self.contract.digest(), contract=compact(self.contract.stored()), owner="ops", review=REVIEW,
        )  # fmt: skip

    def _position(self) -> str:
        self.positions += 1
        return str(self.positions)

    def proposed(self, payload: dict[str, Any] | None = None, *, replaces: str | None = None) -> OperationRecord:
        sources = [{"name": "letter.md", "digest": "sha256:" + "1" * 64, "size": 3}]
        operation, _ = self.ask(
            Propose(
                self.run_id,
                self.fence,
                self._position(),
                self._intent(payload),
                replaces,
                sources,
                {},
                self.opened.deadlines,
            )
        )
        self.operation_id = operation.operation_id
        return operation

    def prepared(self) -> OperationRecord:
        return self.prepare(self.proposed())

    def prepare(self, operation: OperationRecord, payload: dict[str, Any] | None = None) -> OperationRecord:
        intent, deadlines = self._intent(payload), self.opened.deadlines
        verb = Prepare(self.run_id, self.fence, self._position(), intent, operation.operation_id, {}, deadlines)
        return self.ask(verb)

    def target(self) -> Target:
        return target_of(self.operation(), SCOPE, REVIEW)

    def asked(self) -> ReviewRecord:
        """Let the table open the review."""
        self.ask(OpenReview(self.run_id, self.target()))
        return self.reviews()[-1]

    def in_flight(self) -> AttemptRecord:
        attempt = self.ask(
            MarkInFlight(
                self.run_id,
                self.target(),
                self.fence,
                "wrk_1",
                "host",
                "boot",
                "sha256:bytes",
                self.clock.now + 30 * SECOND,
            )
        )
        assert isinstance(attempt, AttemptRecord)
        return attempt

    def answered(self, attempt: AttemptRecord, *, status: int | None = 201) -> None:
        if status is None:
            exchange, meaning, receipt = Exchange("request", True, problem="no reply"), Meaning.AMBIGUOUS, None
        else:
            exchange, meaning, receipt = Exchange("body", True, status), Meaning.APPLIED, {"reference": "bank-99"}
        self.ask(EndAttempt(self.run_id, self.target(), attempt.attempt_id, self.fence, exchange, meaning, receipt))

    def advanced(self) -> OperationRecord:
        self.ask(Advance(self.run_id, self.target()))
        return self.operation()

    def parked(self, reason: ParkReason, *, seen: int | None = None) -> None:
        self.ask(Park(self.run_id, self.fence, seen, reason, "", OWNER, None, None, None))

    def run(self) -> RunRecord:
        with self.opened.read() as reader:
            found = reader.get(RunRecord, self.run_id)
        assert found is not None
        return found

    def operation(self) -> OperationRecord:
        with self.opened.read() as reader:
            found = reader.get(OperationRecord, self.operation_id)
        assert found is not None
        return found

    def reviews(self) -> list[ReviewRecord]:
        with self.opened.read() as reader:
            return reader.find(ReviewRecord, "run_id", self.run_id)
