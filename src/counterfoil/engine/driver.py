"""Drive one operation to its end: ask the recovery table, do what it says, ask again."""

from typing import Any

from counterfoil.engine.advance import Advance, Advanced, OpenReview, Then, demanded, then_of
from counterfoil.engine.attempts import SenderGone, senders_gone
from counterfoil.engine.branches import Branch, Wait
from counterfoil.engine.call_step import demand_of
from counterfoil.engine.definitions import Operation
from counterfoil.engine.demands import Demand
from counterfoil.engine.execution import Execution
from counterfoil.engine.gate import send_of
from counterfoil.engine.inquiry import ask, next_question
from counterfoil.engine.locks import holder_is_gone
from counterfoil.engine.reconcile import ask_receiver, here
from counterfoil.engine.reused import follow
from counterfoil.engine.sender import attempt, stored_payload
from counterfoil.engine.situation import Target
from counterfoil.model.codec import parsed
from counterfoil.model.errors import Refused
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.people import owner_facts, owner_of
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import BUDGET_REASONS, ParkReason
from counterfoil.rules.budget import FIRST_PAUSE_US, LONGEST_PAUSE_US, pause_before
from counterfoil.rules.gate import sentence_of
from counterfoil.rules.recovery import Kind, Until
from counterfoil.rules.recovery_facts import Stop


async def drive(execution: Execution, operation: Operation[Any, Any], operation_id: str, branch: Branch) -> None:
    """Returns when the operation is closed. A doubt that only a person moves is a demand, and waits."""
    if execution.operations[operation_id].reused_from is not None:
        await follow(execution, operation, operation_id, branch)
        return
    while not execution.closed:
        seen = execution.journal.seen
        record = execution.operations[operation_id]
        if operation_id in execution.journal.closings:
            execution.demands.note(f"operation {operation_id}", None)
            return
        await execution.owned(_prove_senders_gone(execution, operation, record))
        target = here(execution.opened, operation, execution.operations[operation_id])
        advanced: Advanced = await execution.owned(execution.write(Advance(execution.run.run_id, target)))
        execution.catch_up()
        if advanced.expired_review is not None and _is_first(execution, advanced.expired_review):
            return  # the workflow hears ReviewExpired; whether another review is opened is its decision
        if await _done(execution, operation, advanced, target, branch, seen):
            return


async def _done(
    execution: Execution, operation: Operation[Any, Any], advanced: Advanced, target: Target, branch: Branch, seen: int
) -> bool:
    """Act on one ruling. True when the operation is closed."""
    key = f"operation {target.operation_id}"
    then = then_of(advanced)
    if then is not Then.STAND:
        execution.demands.note(key, None)
    match then:
        case Then.ENDED:
            return True
        case Then.TRY if (due := _pause(execution, target.operation_id)) is not None:
            sentence = f"waits to try {operation.name} again"
            await execution.wait(Wait("timer", target.operation_id, due, due, due, sentence), branch=branch)
        case Then.TRY:
            await _try(execution, operation, advanced, target, branch)
        case Then.ASK:
            await execution.owned(ask_receiver(execution.opened, operation, advanced.operation, target))
            execution.catch_up()
        case Then.WAIT:
            await execution.wait(_wait(execution, advanced), branch=branch, seen=seen)
        case Then.STAND:
            await _stand(execution, operation, advanced, target, branch, seen)
        case Then.OPEN:
            await execution.owned(execution.write(OpenReview(execution.run.run_id, target)))
            execution.catch_up()
        case Then.AGAIN:
            pass  # written in the database: ask again
    return False


async def _try(
    execution: Execution, operation: Operation[Any, Any], advanced: Advanced, target: Target, branch: Branch
) -> None:
    """One attempt; none of a payload that this code does not take, or that is not what was proposed."""
    record = advanced.operation
    try:
        payload = stored_payload(operation, record)
    except Refused as misfit:
        detail = f"op-{record.number} ({record.name}) is not sent. {misfit.message}"
        owner: dict[str, Any] = parsed(execution.run.budget)["owner"]
        execution.demands.note(f"operation {target.operation_id}", Demand(ParkReason.CODE_CHANGED, detail, owner))
        await execution.wait(_wait(execution, advanced), branch=branch)
        return
    await execution.owned(attempt(execution, operation, record, target, payload))
    execution.catch_up()


async def _stand(
    execution: Execution, operation: Operation[Any, Any], advanced: Advanced, target: Target, branch: Branch, seen: int
) -> None:
    """Nothing automatic is left: somebody of the application is asked, where it names one; else a person."""
    key = f"operation {target.operation_id}"
    question = next_question(execution, operation, advanced)
    if question is not None and question.wait is None:
        await execution.owned(ask(execution, question.inquiry, advanced.operation, target))
        execution.catch_up()
        return
    # While it is asked again a person may resolve it; none is called yet.
    execution.demands.note(key, _demand(execution, advanced) if question is None else None)
    wait = _wait(execution, advanced) if question is None or question.wait is None else question.wait
    await execution.wait(wait, branch=branch, seen=seen)


def _pause(execution: Execution, operation_id: str) -> int | None:
    """When the next try is due after ones that failed before any byte; None: now. Later ones are spaced by their attempts."""
    position = f"drive {operation_id}"
    tries = execution.journal.tries.get(position, 0)
    if not tries:
        return None
    due = execution.journal.last_try_at[position] + pause_before(tries, FIRST_PAUSE_US, LONGEST_PAUSE_US)
    return due if execution.opened.clock.now_us() < due else None


def _demand(execution: Execution, advanced: Advanced) -> Demand | None:
    """Under which reason a person is asked. Another operation's doubt, or a clock, makes no demand of its own."""
    record, ruling = advanced.operation, advanced.ruling
    detail = f"op-{record.number} ({record.name}): case {advanced.case.letter}, {advanced.case.sentence}"
    held, spent = demanded(advanced), advanced.spent
    if held is None:
        return None
    if spent is not None:
        return demand_of(spent, detail)
    undrilled = send_of(record, execution.run) if ruling.reason == Stop.PAUSED else None
    if undrilled is not None:
        detail = f"drill_missing: op-{record.number}: {sentence_of(undrilled)}. Case {advanced.case.letter}."
    return Demand(held, detail, _owner(execution, record, held), undrilled)


def _owner(execution: Execution, record: OperationRecord, reason: ParkReason) -> dict[str, Any]:
    """Budgets go to the budget's owner; a doubt goes to the operation's."""
    budget_owner: dict[str, Any] = parsed(execution.run.budget)["owner"]
    if reason in BUDGET_REASONS or not record.owner:
        return budget_owner
    definition = execution.opened.registry.operations.get(record.name)
    who = (definition.owner or (definition.review.owner if definition.review else None)) if definition else None
    return owner_facts(owner_of(who or record.owner))


_WAITS_FOR = {
    Until.REVIEW: "review", Until.RENEWAL: "review", Until.ATTEMPT_OVER: "attempt", Until.NEXT_TRY: "timer",
}  # fmt: skip


def _wait(execution: Execution, advanced: Advanced) -> Wait:
    record = advanced.operation
    now = execution.opened.clock.now_us()
    kind = (
        _WAITS_FOR.get(Until(advanced.ruling.reason), "receiver") if advanced.ruling.kind is Kind.WAIT else "receiver"
    )
    if kind == "review":
        with execution.opened.read() as reader:
            reviews = reader.find(ReviewRecord, "operation_id", record.operation_id)
        if reviews and reviews[-1].state is ReviewState.OPEN:
            review = reviews[-1]
            sentence = (
                f"Waiting for approval of draft {review.proposal_version} (rev-{review.number}) by {review.role}."
            )
            return Wait(
                "review",
                review.review_id,
                review.opened_at,
                review.expires_at,
                review.expires_at,
                sentence,
                review.owner,
                review.owner_then,
            )
    due = advanced.next_at
    if advanced.held is not None:
        return Wait("slot", advanced.held.pool, now, due, None, advanced.held.sentence)
    if due is None and advanced.ruling.kind is Kind.HOLD:
        due = now + 5_000_000  # another doubt, or a clock: looked at again by itself
    return Wait(kind, record.operation_id, now, due, due, advanced.case.sentence)


def _is_first(execution: Execution, review_id: str) -> bool:
    verdicts = (verdict for told in execution.journal.verdicts.values() for verdict in told)
    return any((verdict.failure or {}).get("expired") == review_id for verdict in verdicts)


async def _prove_senders_gone(execution: Execution, operation: Operation[Any, Any], record: OperationRecord) -> None:
    """Attempts of processes that this host knows to be dead: their locks are free. Elapsed time alone proves nothing."""
    if not record.attempts or record.status.closed:
        return
    opened = execution.opened
    with opened.read() as reader:
        attempts = reader.find(AttemptRecord, "operation_id", record.operation_id)
    gone = senders_gone(attempts, execution.worker_id, lambda held: holder_is_gone(opened.locks, held))
    if gone:
        target = here(execution.opened, operation, record)
        await execution.write(SenderGone(execution.run.run_id, target, gone))
        execution.catch_up()
