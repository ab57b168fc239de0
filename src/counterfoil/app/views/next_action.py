"""NEXT: what may happen next, who moves it, and the command that does. Every command works when typed as printed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from counterfoil.app.views.budgets import raise_text, raised_of
from counterfoil.app.views.gate import undrilled
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.shown import Shown
from counterfoil.engine.budgets import own_id, run_limits
from counterfoil.engine.decisions import in_doubt
from counterfoil.model.access import Act
from counterfoil.model.budget import BudgetRecord
from counterfoil.model.codec import compact, parsed
from counterfoil.model.drill import Covered
from counterfoil.model.installation import IncidentRecord, SuspensionRecord
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.model.run import BUDGET_REASONS, PARK_SENTENCES, ParkReason, RunRecord, RunState
from counterfoil.model.slots import TapRecord
from counterfoil.rules.authority import approvals_of, approvers, proposers
from counterfoil.rules.budget import kind_of
from counterfoil.rules.gate import sentence_of
from counterfoil.rules.wishes import about_operation, about_review

RESOLVED = frozenset(
    {
        ParkReason.OUTCOME_UNKNOWN, ParkReason.RECEIVER_MISMATCH, ParkReason.POSSIBLE_REPEAT, ParkReason.BUSINESS_KEY_CONFLICT,
        ParkReason.INCONSISTENT, ParkReason.ORDER_OVERTAKEN, ParkReason.INTERRUPTED_TOOL,
    }
)  # fmt: skip
HELD = frozenset({ParkReason.POSSIBLE_REPEAT, ParkReason.BUSINESS_KEY_CONFLICT})
LEDGER = "ledger"
_RECOGNISED_AS = {"moved": "moved", "copied": "clone"}


def next_of(
    code: str, sentence: str, kind: str, name: str | None, command: str | None, deadline_at: int | None
) -> dict[str, Any]:
    """The NEXT shape. `kind`: scheduler, reviewer, operator or none; `deadline_at` in microseconds."""
    return {
        "code": code, "sentence": sentence, "who": {"kind": kind, "name": name}, "command": command,
        "deadline_at": rfc3339(deadline_at),
    }  # fmt: skip


def nothing_left(sentence: str) -> dict[str, Any]:
    """Nothing is left to do."""
    return next_of("none", sentence, "none", None, None, None)


def scheduled(code: str, sentence: str, deadline_at: int | None, command: str | None = None) -> dict[str, Any]:
    """A worker does it by itself."""
    return next_of(code, sentence, "scheduler", None, command, deadline_at)


# ---------------------------------------------------------------------- what a person does


def answer_review(shown: Shown, review: ReviewRecord) -> dict[str, Any]:
    """Somebody with the role reads the proposal and answers about its digest."""
    by = _answerer(shown, review)
    command = shown.command("reviews", "approve", f"rev-{review.number}", "--digest", review.digest, *by)
    asked = "This may already have happened. " if review.kind == "renewal" else ""
    sentence = (
        f"{asked}{review.role} answers draft {review.proposal_version}: approve it, or type reject in place of approve."
    )
    if review.expires_at <= shown.now:
        return scheduled("expire_review", "Nobody answered in time; a worker records that.", review.expires_at)
    return next_of("answer_review", sentence, "reviewer", review.role, command, review.expires_at)


def _answerer(shown: Shown, review: ReviewRecord) -> tuple[str, ...]:
    """Somebody whose approval would count: neither who proposed nor who has approved already."""
    operation = shown.reader.get(OperationRecord, review.operation_id)
    run = shown.reader.get(RunRecord, review.run_id)
    if operation is None or run is None:
        return ()
    acted = proposers(run, review, shown.reader.find(ReviewRecord, "operation_id", review.operation_id))
    if review.needed > 1:
        given = approvals_of(review, shown.reader.find(AnswerRecord, "review_id", review.review_id))
        acted |= {answer.person for answer in given}
    return shown.who_may(about_review(Act.ANSWER, review, operation, run), acted=acted)


def resolve(
    shown: Shown, operation: OperationRecord, run: RunRecord, reviews: Sequence[ReviewRecord]
) -> dict[str, Any]:
    """A person closes a doubt, or says what a held operation is."""
    acted = approvers(reviews, shown.reader.find(AnswerRecord, "run_id", operation.run_id))
    by = shown.who_may(about_operation(Act.RESOLVE, operation, run), acted=acted)
    held = operation.reason in HELD and not operation.sent
    # Held: it was never sent, so refusing it is the answer that can do no harm. In doubt: only the receiver's own
    # reference lets anybody say that it happened, and the prompt asks for it.
    as_ = "failed" if held else "succeeded"
    command = shown.command(
        "operations", "resolve", f"op-{operation.number}", "--as", as_, "--expect-version", str(operation.version), *by
    )
    ways = ["--as succeeded with its reference", "--as failed with proof that it is not there", "--as send-again"]
    if held:
        ways = ["--as failed refuses it", "--as send-again allows it as one more"]
    elif operation.undeclared:
        ways.pop()  # a tool that nobody declared is never sent again
    told = ", ".join(ways[:-1]) + (", " if held else ", or ") + ways[-1]
    why = PARK_SENTENCES.get(ParkReason(operation.reason)) if operation.reason in set(ParkReason) else None
    sentence = f"{why or PARK_SENTENCES[ParkReason.OUTCOME_UNKNOWN]} Look at the receiver, then resolve: {told}."
    return next_of("resolve", sentence, "operator", operation.owner, command, run.deadline_at)


def close_incident(
    shown: Shown, incident: IncidentRecord, operation: OperationRecord, run: RunRecord
) -> dict[str, Any]:
    """A person weighs what the receiver showed."""
    by = shown.by([operation.owner, run.owner, run.owner_then])
    command = shown.command("incidents", "close", f"inc-{incident.number}", *by)
    sentence = f"{incident.what} Put the receiver in order, then close the incident."
    return next_of("close_incident", sentence, "operator", operation.owner, command, run.deadline_at)


def resume_writes(shown: Shown, suspension: SuspensionRecord, owner: str, deadline_at: int | None) -> dict[str, Any]:
    """A person lets sending go on."""
    kind, _, name = suspension.scope.partition(":")
    where = ("--all",) if kind == "all" else (f"--{kind}", name)
    command = shown.command("writes", "resume", *where, *_somebody(shown))
    sentence = f"{suspension.by} suspended sending: {suspension.reason}."
    return next_of("resume_writes", sentence, "operator", owner, command, deadline_at)


def resume_receiver(shown: Shown, tap: TapRecord, owner: str, deadline_at: int | None) -> dict[str, Any]:
    """A person ends a person's pause."""
    command = shown.command("receivers", "resume", tap.receiver, *_somebody(shown))
    sentence = f"{tap.paused_by} paused the receiver {tap.receiver}: {tap.paused_reason}"
    return next_of("resume_receiver", sentence, "operator", tap.paused_by or owner, command, deadline_at)


def drill_missing(shown: Shown, send: Covered, run: RunRecord) -> dict[str, Any]:
    """Somebody lets it go on without a drill, by name and with an end; a drill that is registered needs nobody."""
    command = shown.command("waivers", "add", send.operation, *_somebody(shown))
    drill = shown.command("drill", send.workflow, "--register")
    # What `app.ledger` performs has no workflow of the user's that a command could name.
    first = "Waive it" if send.workflow == LEDGER else f"Register a drill (`{drill}`), or waive it"
    sentence = f"{sentence_of(send)}. {first} by name and with an end."
    return next_of("drill_missing", sentence, "operator", run.owner, command, run.deadline_at)


def finish_restore(shown: Shown, owner: str, deadline_at: int | None) -> dict[str, Any]:
    """A person attests what this database is."""
    as_ = _RECOGNISED_AS.get(shown.restore_reason or "", "restored")
    command = shown.command("restore", "finish", "--as", as_, *_somebody(shown))
    sentence = f"{PARK_SENTENCES[ParkReason.RESTORED]} Make sure that nobody else sends from another copy first."
    return next_of("finish_restore", sentence, "operator", owner, command, deadline_at)


def _somebody(shown: Shown) -> tuple[str, ...]:
    return shown.by([person.name for person in shown.people])


# ---------------------------------------------------------------------- an operation


def operation_next(
    shown: Shown,
    operation: OperationRecord,
    run: RunRecord,
    reviews: Sequence[ReviewRecord],
    incidents: Sequence[IncidentRecord],
) -> dict[str, Any]:
    """What moves an operation. `reviews` and `incidents` are its own, by number."""
    incident = next((incident for incident in incidents if incident.closed_at is None), None)
    if incident is not None:
        return close_incident(shown, incident, operation, run)
    if operation.status.closed:
        return nothing_left("It is closed.")
    ordered = operation.resolution is not None and run.state is not RunState.PARKED
    if not ordered and (operation.status is OperationStatus.UNKNOWN or operation.reason in RESOLVED):
        return resolve(shown, operation, run, reviews)
    if reviews and reviews[-1].state is ReviewState.OPEN:
        return answer_review(shown, reviews[-1])
    if shown.restore_open:
        return finish_restore(shown, operation.owner, run.deadline_at)
    suspension = shown.suspended(operation.operation_id, operation.receiver)
    if suspension is not None:
        return resume_writes(shown, suspension, operation.owner, run.deadline_at)
    if run.state is RunState.PARKED and run.reason not in RESOLVED:
        return parked_next(shown, run, [] if reviews else [operation], [])
    tap = shown.reader.get(TapRecord, operation.receiver)
    if tap is not None and tap.paused_at is not None:
        return resume_receiver(shown, tap, operation.owner, run.deadline_at)
    if in_doubt(operation):
        return scheduled("reconcile", "A worker moves it out of doubt by its contract.", operation.next_at)
    return scheduled("send", "A worker sends it when everything allows it.", operation.next_at)


# ---------------------------------------------------------------------- a run that is parked


def parked_next(
    shown: Shown, run: RunRecord, operations: Sequence[OperationRecord], incidents: Sequence[IncidentRecord]
) -> dict[str, Any]:
    """The command that a park reason leads to (cli.md). `operations` and `incidents` are the run's own."""
    reason = ParkReason(run.reason or ParkReason.INCONSISTENT)
    if reason in RESOLVED:
        return _resolve_of(shown, run, operations)
    if reason is ParkReason.DUPLICATE_FOUND:
        return _incident_of(shown, run, operations, incidents)
    if reason is ParkReason.RESTORED:
        return finish_restore(shown, run.owner, run.deadline_at)
    if reason is ParkReason.WRITES_SUSPENDED:
        return _suspension_of(shown, run, operations)
    if reason in BUDGET_REASONS:
        return _raise_of(shown, run, reason)
    code, words = _park_command(run, reason)
    return next_of(code, run.sentence, "operator", run.owner, shown.command(*words), run.deadline_at)


def _park_command(run: RunRecord, reason: ParkReason) -> tuple[str, tuple[str, ...]]:
    name = f"run-{run.number}"
    match reason:
        case ParkReason.STEP_FAILED:
            return "retry", ("runs", "retry", name)
        case ParkReason.CLOCK_JUMP:
            return "check_clock", ("doctor",)
        case ParkReason.NO_WORKER:
            return "start_worker", ("worker",)
        case ParkReason.CODE_CHANGED:
            return "cancel_or_old_version", ("runs", "cancel", name)
        case _:
            return "resume", ("runs", "resume", name)


def _raise_of(shown: Shown, run: RunRecord, reason: ParkReason) -> dict[str, Any]:
    """Twice what was allowed: a proposal that a person may change."""
    shared = None if run.budget_id is None else shown.reader.get(BudgetRecord, run.budget_id)
    own = shown.reader.get(BudgetRecord, own_id(run.run_id))
    if shared is not None:
        words = ("budgets", "raise", f"budget-{shared.number}", "--raise", raised_of(shared, reason))
        command = shown.command(*words)
        return next_of("raise_shared_budget", run.sentence, "operator", run.owner, command, run.deadline_at)
    if own is not None and reason in (ParkReason.BUDGET_TOKENS, ParkReason.BUDGET_CALLS):
        raised = raised_of(replace(own, limits=compact(run_limits(parsed(run.budget)))), reason)
        words = ("runs", "resume", f"run-{run.number}", "--raise", raised)
    else:
        limits = run_limits(parsed(run.budget))
        kind = next(kind for kind in limits if kind.startswith(kind_of(reason)))
        words = ("runs", "resume", f"run-{run.number}", "--raise", raise_text(kind, limits))
    return next_of("raise_budget", run.sentence, "operator", run.owner, shown.command(*words), run.deadline_at)


def _resolve_of(shown: Shown, run: RunRecord, operations: Sequence[OperationRecord]) -> dict[str, Any]:
    waits = [operation for operation in operations if not operation.status.closed]
    for operation in sorted(waits, key=lambda o: (o.reason != run.reason, not in_doubt(o), o.number)):
        reviews = shown.reader.find(ReviewRecord, "operation_id", operation.operation_id)
        return resolve(shown, operation, run, reviews)
    command = shown.command("runs", "resume", f"run-{run.number}")
    return next_of("resume", run.sentence, "operator", run.owner, command, run.deadline_at)


def _incident_of(
    shown: Shown, run: RunRecord, operations: Sequence[OperationRecord], incidents: Sequence[IncidentRecord]
) -> dict[str, Any]:
    by_id = {operation.operation_id: operation for operation in operations}
    for incident in incidents:
        if incident.closed_at is None and incident.operation_id in by_id:
            return close_incident(shown, incident, by_id[incident.operation_id], run)
    return _resolve_of(shown, run, operations)


def _suspension_of(shown: Shown, run: RunRecord, operations: Sequence[OperationRecord]) -> dict[str, Any]:
    for operation in operations:
        suspension = shown.suspended(operation.operation_id, operation.receiver)
        if suspension is not None and not operation.status.closed:
            return resume_writes(shown, suspension, run.owner, run.deadline_at)
    if shown.suspensions:
        return resume_writes(shown, shown.suspensions[0], run.owner, run.deadline_at)
    for operation in operations:
        send = undrilled(shown, operation, run)
        if send is not None and not operation.status.closed and "drill_missing" in run.sentence:
            return drill_missing(shown, send, run)
    command = shown.command("runs", "resume", f"run-{run.number}")
    return next_of(
        "resume", "What stopped sending is over; the run goes on.", "operator", run.owner, command, run.deadline_at
    )
