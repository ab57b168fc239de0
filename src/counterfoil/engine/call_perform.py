"""`run.propose` and `run.perform`: an intended write, its review, its attempts, its receipt."""

from collections.abc import Sequence
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter

from counterfoil.engine.asked import approved_digest, proposal_digest
from counterfoil.engine.branches import Branch, Wait
from counterfoil.engine.definitions import Operation, dumped, loaded, signature_of
from counterfoil.engine.driver import drive
from counterfoil.engine.endpoint import account_of, endpoint_of
from counterfoil.engine.execution import Execution
from counterfoil.engine.marking import marks_of
from counterfoil.engine.opened import Opened
from counterfoil.engine.proposals import Intent, Prepare, Propose
from counterfoil.engine.receipts import whole_receipt
from counterfoil.engine.withdraw import Withdraw
from counterfoil.model import ids
from counterfoil.model.artifact import Artifact
from counterfoil.model.codec import BODY_LIMIT, canonical, compact, digest_of
from counterfoil.model.errors import OperationFailed, Refused, ReviewExpired, ReviewRejected, TimedOut
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.people import owner_of
from counterfoil.model.proposal import Proposal
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.rules.replay import Outcome


def intent_of(execution: Execution, operation: Operation[Any, Any], payload: Any) -> tuple[Intent, Any]:
    """The intent, and the payload as the operation's function will get it. Raises Refused for what does not fit."""
    adapter = payload_adapter(operation)
    plain = dumped(adapter, payload, where=f"the payload of {operation.name}")
    typed = loaded(adapter, plain, where=f"the payload of {operation.name}")
    text = canonical(plain, where=f"the payload of {operation.name}").decode()
    if len(text) > BODY_LIMIT:
        raise Refused("too_large", what=f"The payload of {operation.name}", size=len(text), limit=BODY_LIMIT)
    account = account_of(execution.opened.registry, operation)
    key, marks = operation.key_of(typed), marks_of(operation.function)
    receiver = execution.opened.registry.receivers[operation.receiver]
    owner = operation.owner or (operation.review.owner if operation.review else "")
    return Intent(
        name=operation.name,
        receiver=operation.receiver,
        environment=receiver.environment,
        action=operation.action,
        api_version=operation.contract.api_version,
        duplicate=operation.contract.duplicate,
        payload=text,
        payload_digest=digest_of(text.encode()),
        business_key=None if key is None else "\x1f".join((account, operation.name, key)),
        repeatable=operation.repeatable,
        contract_digest=operation.contract.digest(),
        contract=compact(operation.contract.stored()),
        owner=owner_of(owner).name,
        review=operation.review_facts(),
        target=marks.target_in(typed),
        amount=marks.amount_in(typed, name=operation.name),
        lineage=execution.lineage,
    ), typed


def payload_type(operation: Operation[Any, Any]) -> Any:
    """The annotation of the payload."""
    return list(get_type_hints(operation.function).values())[1]


def payload_adapter(operation: Operation[Any, Any]) -> TypeAdapter[Any]:
    return signature_of(operation.function, skip=1).inputs[0][1]


async def propose(
    execution: Execution,
    operation: Operation[Any, Any],
    payload: Any,
    replaces: Proposal[Any, Any] | None,
    sources: Sequence[Artifact],
) -> Proposal[Any, Any]:
    intent, typed = intent_of(execution, operation, payload)
    kept = [source.model_dump(mode="json") for source in sources]
    digest = proposal_digest(intent.payload_digest, replaces.proposal_id if replaces else None, kept)
    with execution.call(operation.name, digest) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            run = execution.run
            data = {"in": digest}
            endpoint_of(execution.opened.registry, operation, execution.opened.environ)
            verb = Propose(
                run.run_id,
                run.fence,
                position,
                intent,
                replaces.operation_id if replaces else None,
                kept,
                data,
                execution.opened.deadlines,
                execution.operations[replaces.operation_id].business_key if replaces else None,
            )
            await execution.owned(execution.write(verb))
            execution.catch_up()
            outcome = await execution.given(execution.journal.ended[position])
        said = outcome.value
        return Proposal(
            ids.proposal_id(said["operation_id"], said["version"]),
            said["operation_id"],
            operation,
            typed,
            said["version"],
            said["digest"],
        )


async def perform(execution: Execution, operation: Operation[Any, Any], given: Any) -> Any:
    proposal = cast("Proposal[Any, Any] | None", given if isinstance(given, Proposal) else None)
    intent, _ = intent_of(execution, operation, given if proposal is None else proposal.payload)
    digest = (
        intent.payload_digest
        if proposal is None
        else approved_digest(proposal.operation_id, proposal.version, proposal.digest)
    )
    with execution.call(operation.name, digest) as position:
        while True:
            operation_id, version = await prepared(execution, operation, position, intent, digest, proposal)
            try:
                outcome = await _ended(execution, operation, position, operation_id, version)
            except TimedOut:
                # The workflow hears that it did not happen in time, and may do something else: what never left stays here.
                run = execution.run
                verb = Withdraw(run.run_id, run.fence, operation_id, "timed out", only_unsent=True)
                await execution.owned(execution.write(verb))
                execution.catch_up()
                raise
            if outcome is not None:
                return _answer(execution, operation, execution.operations[operation_id], outcome)


async def prepared(
    execution: Execution,
    operation: Operation[Any, Any],
    position: str,
    intent: Intent,
    digest: str,
    proposal: Proposal[Any, Any] | None,
) -> tuple[str, int]:
    """The operation of this position. After a retry of a failed one it is the next occurrence, with an identity of its own."""
    opened = execution.journal.opened.get(position)
    if opened is not None:
        known = execution.operations[opened.data["operation_id"]]
        verdicts = execution.journal.verdicts.get((known.operation_id, opened.data["version"]), ())
        told = any(not closes(verdict) for verdict in verdicts)  # the workflow answered it, and the run ended later
        if known.status is not OperationStatus.FAILED or known.operation_id in execution.journal.closings or told:
            return known.operation_id, opened.data["version"]
    await execution.recorded(None)  # nothing is prepared under a timeout that is over
    endpoint_of(execution.opened.registry, operation, execution.opened.environ)  # nor what could not be sent from here
    of_proposal = proposal is not None and opened is None
    verb = Prepare(
        execution.run.run_id,
        execution.run.fence,
        position,
        intent,
        proposal.operation_id if proposal and of_proposal else None,
        {"in": digest},
        execution.opened.deadlines,
    )
    await execution.owned(execution.write(verb))
    execution.catch_up()
    data = execution.journal.opened[position].data
    return data["operation_id"], data["version"]


async def _ended(
    execution: Execution, operation: Operation[Any, Any], position: str, operation_id: str, version: int
) -> Outcome | None:
    """Drive the operation until it is closed, or its review says something that the workflow may answer."""
    journal = execution.journal
    while True:
        verdict = journal.verdict(operation_id, version, position)
        closing = journal.closings.get(operation_id)
        if verdict is not None and not closes(verdict) and (closing is None or verdict.sequence < closing.sequence):
            return await execution.recorded(verdict)  # the closing is of a later version
        if closing is not None:
            return await execution.recorded(closing)
        if operation_id not in execution.drivers:
            start_driver(execution, operation, operation_id)
        now = execution.opened.clock.now_us()
        await execution.wait(Wait("driver", operation_id, now, None, None, f"waits for {operation.name}"))


def closes(verdict: Outcome) -> bool:
    """A plain rejection closes its operation as never sent; the closing is then the outcome."""
    return "rejected" in (verdict.failure or {}) and not verdict.value["ask_revision"]


def start_driver(execution: Execution, operation: Operation[Any, Any], operation_id: str) -> None:
    """A driver is the engine's own branch: it goes on when the caller was detached by a timeout."""
    branch = Branch(f"drive {operation_id} ", execution.branch.last_at)
    part = execution.open_branch(branch, drive(execution, operation, operation_id, branch))
    execution.drivers[operation_id] = part

    def over(ended: Any) -> None:
        execution.drivers.pop(operation_id, None)
        if not ended.cancelled() and ended.exception() is not None and not execution.closed:
            execution.broken = ended.exception()
        execution.pulse()

    part.add_done_callback(over)


def _answer(execution: Execution, operation: Operation[Any, Any], record: OperationRecord, outcome: Outcome) -> Any:
    check_review(execution, record, outcome)
    if record.status is OperationStatus.SUCCEEDED:
        return receipt_of(execution.opened, operation, record)
    kind = "withdrawn" if record.withdrawn else record.reason or "refused"
    said = f"withdrawn before it was sent: {record.withdrawn}" if record.withdrawn else outcome.value["sentence"]
    failed = OperationFailed(record.operation_id, f"{operation.name}: {said}", kind=kind)
    raise execution.failures.told(failed, outcome.sequence)


def check_review(execution: Execution, record: OperationRecord, outcome: Outcome) -> None:
    """Raises ReviewRejected or ReviewExpired where a review ended it, or this call of it."""
    if outcome.failure is not None:
        raise execution.failures.told(_review_failure(execution, outcome), outcome.sequence)
    review = _rejection(execution, record) if record.reason == "rejected" else None
    if review is not None:
        failure = ReviewRejected(
            review.review_id, review.reviewer or "", review.comment or "", bool(review.ask_revision)
        )
        raise execution.failures.told(failure, outcome.sequence)


def _review_failure(execution: Execution, outcome: Outcome) -> ReviewExpired | ReviewRejected:
    said = outcome.value
    if "expired" in (outcome.failure or {}):
        return ReviewExpired(said["review_id"])
    return ReviewRejected(said["review_id"], said["person"], said["comment"], said["ask_revision"])


def _rejection(execution: Execution, record: OperationRecord) -> ReviewRecord | None:
    with execution.opened.read() as reader:
        reviews = reader.find(ReviewRecord, "operation_id", record.operation_id)
    return next((review for review in reversed(reviews) if review.decided_at is not None), None)


def receipt_of(opened: Opened, operation: Operation[Any, Any], record: OperationRecord) -> Any:
    """The typed receipt of an operation that succeeded. Raises Refused(invalid_payload) where this code cannot read it."""
    with opened.read() as reader:
        receipt = reader.get(ReceiptRecord, record.receipt_id or "")
    assert receipt is not None, "a succeeded operation has a receipt"
    return loaded(
        signature_of(operation.function, skip=1).result,
        whole_receipt(receipt.body, opened.artifacts.whole),
        where=f"the receipt of {operation.name}",
    )
