"""A ledger filled quickly: rows as the engine leaves them, through the store, each with its entries. `verify` holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from counterfoil.app import App
from counterfoil.engine.opened import Opened
from counterfoil.engine.verb import RunVerb
from counterfoil.model import ids
from counterfoil.model.codec import compact, payload_digest
from counterfoil.model.contract import Contract, When
from counterfoil.model.installation import ContractRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Read, Verb
from counterfoil.store.transaction import Transaction
from counterfoil.testing.conformance.samples import attempt_of, operation_of, review_of, run_named

HOUR = 3600 * 1_000_000
BATCH = 2_000
PERSON = "ana"
RECEIVERS = ("stripe", "crm", "mail")
CONTRACT = Contract(api_version="1", classifier=[When(status="2xx").means("applied")], procedure="Ask the desk.")
BUDGET = compact(
    {
        "attempts": 5,
        "elapsed_us": 48 * HOUR,
        "spend_micros": 0,
        "owner": {"name": PERSON, "within_us": HOUR, "then": None},
    }
)


@dataclass(frozen=True, slots=True)
class Fill(RunVerb):
    """One run as it stands after its story. `write` puts its rows and appends its entries."""

    write: Callable[[Transaction, str], None]
    boundary: ClassVar[str] = "run.submitted"

    def reads(self) -> Sequence[Read]:
        return ()

    def decide(self, tx: Transaction) -> None:
        self.write(tx, self.run_id)


def fill(app: App, count: int, write: Callable[[Transaction, str], None], *, prefix: str) -> list[str]:
    """So many runs, some hundreds in a commit. Gives their ids."""
    opened = app.open()
    made = [ids.run_id(opened.installation_id, "refund", f"{prefix}-{number}") for number in range(count)]
    for first in range(0, count, BATCH):
        for outcome in opened.database.apply(verbs([Fill(run_id, write) for run_id in made[first : first + BATCH]])):
            outcome.unwrap()
    return made


def verbs(fills: Sequence[Fill]) -> Sequence[Verb]:
    """As the store names them."""
    return cast("Sequence[Verb]", fills)


def contract_stored(opened: Opened) -> None:
    """The one contract that all filled operations name."""

    def write(tx: Transaction, run_id: str) -> None:
        tx.put(ContractRecord(CONTRACT.digest(), compact(CONTRACT.stored())))
        tx.append(run_id, EntryKind.PERSON, name=PERSON, data={"added": False})

    opened.database.apply(verbs([Fill(opened.installation_id, write)]))[0].unwrap()


def waiting_for_a_review(tx: Transaction, run_id: str) -> None:
    """A run that a person submitted, up to the review that it waits for. Deadlines are spread over a day."""
    run, operation = _begun(tx, run_id)
    expires = tx.now + HOUR + run.number * 7_919_000_000 % (24 * HOUR)
    review = _review(tx, operation, expires)
    tx.put(replace(run, state=RunState.WAITING, reason="review", sentence="Waits for approval.", deadline_at=expires, due_at=expires,
                   waiting_since=tx.now, executing=0, worker_id=None, lease_until=None))  # fmt: skip
    tx.put(operation)
    tx.put(_proposal(operation, tx.now))
    tx.put(review)
    tx.append(run_id, EntryKind.REVIEW, data={"review_id": review.review_id, "operation_id": operation.operation_id})
    waits = [{"kind": "review", "id": review.review_id, "since_at": tx.now, "deadline_at": expires}]
    tx.append(run_id, EntryKind.SUSPENDED, data={"why": "review", "waits": waits})


def finished(tx: Transaction, run_id: str) -> None:
    """A run that is over: approved, sent, answered, completed."""
    run, operation = _begun(tx, run_id)
    at = tx.now
    review = replace(
        _review(tx, operation, at + HOUR), state=ReviewState.APPROVED, reviewer=PERSON, decided_at=at, comment=""
    )
    attempt: AttemptRecord = replace(
        attempt_of(operation, 1), attempt_id=ids.attempt_id(operation.operation_id, 1), started_at=at, deadline_at=at + HOUR,
        ended_at=at, sender_gone_at=at, reached="body", answer_status=201, answer_class="applied", answer_at=at,
        review_id=review.review_id,
    )  # fmt: skip
    reference = f"re_{operation.number}"
    receipt_id = ids.receipt_id(operation.operation_id, "reply", operation.payload_digest)
    tx.put(replace(run, state=RunState.COMPLETED, sentence="It ended with a result.", result=compact({"reference": reference}),
                   deadline_at=None, due_at=None, executing=0, worker_id=None, lease_until=None))  # fmt: skip
    tx.put(replace(operation, status=OperationStatus.SUCCEEDED, sent=1, attempts=1, first_sent_at=at, receipt_id=receipt_id,
                   next_at=None, closed_at=at, version=4))  # fmt: skip
    tx.put(_proposal(operation, at))
    tx.put(review)
    tx.put(
        AnswerRecord(
            ids.derived("ans", review.review_id, "0"),
            review.review_id,
            run_id,
            PERSON,
            "approve",
            review.digest,
            "",
            0,
            at,
            "now",
        )
    )
    tx.put(attempt)
    tx.put(ReceiptRecord(receipt_id, operation.operation_id, run_id, attempt.attempt_id, "reply", reference,
                         compact({"reference": reference}), operation.payload_digest, "first_result", at))  # fmt: skip
    said = {"review_id": review.review_id, "operation_id": operation.operation_id, "version": 1, "person": PERSON,
            "decision": "approve", "comment": "", "ask_revision": False, "matched": "now", "kind": "first"}  # fmt: skip
    tx.append(run_id, EntryKind.ANSWER, data=said)
    tx.append(
        run_id,
        EntryKind.CLOSED,
        name=operation.name,
        data={"operation_id": operation.operation_id, "status": "succeeded"},
    )
    tx.append(run_id, EntryKind.FINISHED, name="completed", data={"result": {"reference": reference}})


def _begun(tx: Transaction, run_id: str) -> tuple[RunRecord, OperationRecord]:
    number = tx.number("run")
    request_id = f"request-{number}"
    input_ = compact({"request_number": request_id, "charge": f"ch_{number}", "letter": "Please give it back. " * 5})
    run = replace(
        run_named(run_id, number), request_id=request_id, input=input_, budget=BUDGET, owner=PERSON, created_at=tx.now,
        started_at=tx.now, submitted_by=PERSON,
    )  # fmt: skip
    payload: dict[str, Any] = {"request_number": request_id, "charge": f"ch_{number}", "amount": 100 + number % 900}
    receiver = RECEIVERS[number % len(RECEIVERS)]
    operation_number = tx.number("operation")
    operation = replace(
        operation_of(run_id, ids.operation_id(run_id, 0, "1", "create_refund", 0), operation_number), receiver=receiver,
        business_key="\x1f".join((receiver, "test", "create_refund", request_id)), payload=compact(payload),
        payload_digest=payload_digest(payload), contract_digest=CONTRACT.digest(), prepared_at=tx.now, next_at=None,
        target=f"ch_{number}", amount_minor=payload["amount"], currency="EUR",
    )  # fmt: skip
    tx.put(run)
    tx.append(run_id, EntryKind.SUBMITTED, name="refund", data={"version": 1, "request_id": request_id, "by": PERSON})
    tx.append(run_id, EntryKind.STEP, position="0", name="read_payment", data={"value": "r" * 200})
    tx.append(run_id, EntryKind.PREPARED, position="1", name="create_refund",
              data={"operation_id": operation.operation_id, "version": 1})  # fmt: skip
    return run, operation


def _review(tx: Transaction, operation: OperationRecord, expires: int) -> ReviewRecord:
    number = tx.number("review")
    return replace(
        review_of(operation, ids.review_id(operation.operation_id, 1, 0), number), digest=operation.payload_digest,
        role="refund-approver", owner=PERSON, opened_at=tx.now, expires_at=expires,
    )  # fmt: skip


def _proposal(operation: OperationRecord, at: int) -> ProposalRecord:
    return ProposalRecord(
        ids.proposal_id(operation.operation_id, 1), operation.operation_id, operation.run_id, 1, operation.payload,
        operation.payload_digest, "[]", "1", at,
    )  # fmt: skip
