"""A run: one execution of a workflow, its state, and why it is parked."""

from dataclasses import dataclass
from enum import StrEnum


class RunState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    PARKED = "parked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self in (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)


RUN_SENTENCES: dict[RunState, str] = {
    RunState.PENDING: "Stored, and waiting for a worker.",
    RunState.RUNNING: "A worker drives it now.",
    RunState.WAITING: "It waits for a person, a signal, a timer or a receiver.",
    RunState.PARKED: "It stopped with a reason, and a named owner moves it forward.",
    RunState.COMPLETED: "It ended with a result.",
    RunState.FAILED: "It ended with a failure.",
    RunState.CANCELLED: "It was cancelled; nothing of it is in doubt.",
}


class ParkReason(StrEnum):
    OUTCOME_UNKNOWN = "outcome_unknown"
    RECEIVER_MISMATCH = "receiver_mismatch"
    POSSIBLE_REPEAT = "possible_repeat"
    BUSINESS_KEY_CONFLICT = "business_key_conflict"
    DUPLICATE_FOUND = "duplicate_found"
    INTERRUPTED_TOOL = "interrupted_tool"
    REVIEW_EXPIRED = "review_expired"
    REVIEW_REJECTED = "review_rejected"
    BUDGET_ATTEMPTS = "budget_attempts"
    BUDGET_ELAPSED = "budget_elapsed"
    BUDGET_SPEND = "budget_spend"
    BUDGET_TOKENS = "budget_tokens"
    BUDGET_CALLS = "budget_calls"
    CODE_CHANGED = "code_changed"
    NO_WORKER = "no_worker"
    NO_PROGRESS = "no_progress"
    EXPIRED = "expired"
    POISONED = "poisoned"
    RESTORED = "restored"
    WRITES_SUSPENDED = "writes_suspended"
    CLOCK_JUMP = "clock_jump"
    INCONSISTENT = "inconsistent"
    ORDER_OVERTAKEN = "order_overtaken"
    STEP_FAILED = "step_failed"


PARK_SENTENCES: dict[ParkReason, str] = {
    ParkReason.OUTCOME_UNKNOWN: "The outcome of a write is unknown, and nothing automatic is left.",
    ParkReason.RECEIVER_MISMATCH: "The receiver holds something else under our number.",
    ParkReason.POSSIBLE_REPEAT: "An equal operation exists in this run; a person says whether both are meant.",
    ParkReason.BUSINESS_KEY_CONFLICT: "Another operation holds this business key with other content.",
    ParkReason.DUPLICATE_FOUND: "The receiver holds more than one record for one intention.",
    ParkReason.INTERRUPTED_TOOL: "A tool was interrupted and nobody knows whether it acted.",
    ParkReason.REVIEW_EXPIRED: "Nobody answered the review in time; nothing was sent.",
    ParkReason.REVIEW_REJECTED: "The reviewer rejected it; nothing was sent.",
    ParkReason.BUDGET_ATTEMPTS: "The budget of attempts is spent.",
    ParkReason.BUDGET_ELAPSED: "The budget of elapsed time is spent.",
    ParkReason.BUDGET_SPEND: "The budget of money for the model is spent.",
    ParkReason.BUDGET_TOKENS: "The budget of tokens is spent.",
    ParkReason.BUDGET_CALLS: "The budget of calls of a tool or an operation is spent.",
    ParkReason.CODE_CHANGED: "The code at hand cannot understand the stored run.",
    ParkReason.NO_WORKER: "No worker took it up in time.",
    ParkReason.NO_PROGRESS: "A worker held it without a new entry for too long.",
    ParkReason.EXPIRED: "What it waited for did not come in time.",
    ParkReason.POISONED: "It brought down its worker while it ran alone, or twice during one call of a model.",
    ParkReason.RESTORED: "The database was restored; sending is suspended until a person finishes that.",
    ParkReason.WRITES_SUSPENDED: "Sending is stopped: by a person, or for want of a drill.",
    ParkReason.CLOCK_JUMP: "The clocks disagree; sending is stopped.",
    ParkReason.INCONSISTENT: "The record contradicts itself; a person looks at it.",
    ParkReason.ORDER_OVERTAKEN: "A repeat that a person ordered is no longer harmless.",
    ParkReason.STEP_FAILED: "A step failed for good, and the workflow does not answer that.",
}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One row of `runs`. Times are integer microseconds since 1970 UTC; JSON columns are text.

    `due_at` is when somebody should look at the run next; None when only an outside act moves it.
    `heading` is the end that a parked run takes once its last doubt is closed.
    """

    run_id: str
    number: int
    workflow: str
    workflow_version: int
    generation: int
    request_id: str
    input_digest: str
    input: str
    state: RunState
    reason: str | None
    sentence: str
    owner: str
    owner_then: str | None
    deadline_at: int | None
    due_at: int | None
    heading: str | None
    result: str | None
    failure: str | None
    parent_run_id: str | None
    parent_position: str | None
    budget: str
    failed_tries: int
    spent_micros: int
    reserved_micros: int
    waited_us: int  # for people: not part of the elapsed budget
    waiting_since: int | None
    crashes: int
    cancel_asked: int
    created_at: int
    started_at: int | None
    updated_at: int
    fence: int
    worker_id: str | None
    lease_until: int | None
    executing: int
    sequence: int
    head: bytes
    submitted_by: str | None = None  # the person who submitted it; None where a program did, under its own name
    draws: str | None = None  # what its calls in flight hold in reserve of budgets, as JSON by call
    budget_id: str | None = None  # the shared budget that it was parked for last
    after_run_id: str | None = None  # a run that must have ended before this one is claimed: the turn before it
    known_from: int | None = None  # since when a history that was lost may have had it; None: not before created_at
    held_for: str | None = None  # the pool that it waits for; a worker takes it up when there is room
    slots: str | None = None  # the pools in which it took a place when it was claimed last, as JSON


BUDGET_REASONS = frozenset(reason for reason in ParkReason if reason.startswith("budget_"))

# What a lease or the chain itself moves: not evidence, so not rebuilt from the journal.
RUN_VOLATILE = frozenset(
    {"fence", "worker_id", "lease_until", "executing", "sequence", "head", "due_at", "updated_at", "held_for", "slots"}
)
