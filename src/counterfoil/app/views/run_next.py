"""NEXT of a run: who moves it forward from where it stands."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.views.next_action import (
    answer_review,
    next_of,
    nothing_left,
    parked_next,
    resume_receiver,
    scheduled,
)
from counterfoil.app.views.shown import Shown
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import TurnRecord
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RUN_SENTENCES, RunRecord, RunState
from counterfoil.model.slots import TapRecord

WORKER_SEEN_US = 2 * 60 * 1_000_000  # a worker that was not seen for this long is not counted on


def run_next(
    shown: Shown,
    run: RunRecord,
    operations: Sequence[OperationRecord],
    reviews: Sequence[ReviewRecord],
    incidents: Sequence[IncidentRecord],
    entries: Sequence[Entry],
) -> dict[str, Any]:
    """The rows are the run's own, in their order."""
    match run.state:
        case RunState.PARKED:
            return parked_next(shown, run, operations, incidents)
        case RunState.FAILED if shown.reader.find(TurnRecord, "prior_run_id", run.run_id):
            return nothing_left(
                "It ended with a failure. What was said since has it as its history: say it again to have it answered."
            )
        case RunState.FAILED:
            command = shown.command("runs", "retry", f"run-{run.number}")
            sentence = "It ended with a failure. Correct the cause, then retry it; what is finished is kept."
            return next_of("retry", sentence, "operator", run.owner, command, None)
        case RunState.COMPLETED | RunState.CANCELLED:
            return nothing_left(RUN_SENTENCES[run.state])
        case RunState.WAITING:
            return _waiting(shown, run, reviews, entries)
        case RunState.RUNNING:
            return _by_worker(shown, "drive", run)
        case RunState.PENDING:
            return _by_worker(shown, "take_up", run)


def _by_worker(shown: Shown, code: str, run: RunRecord) -> dict[str, Any]:
    """A worker does it; where none was seen lately, somebody starts one."""
    alive = any(w.stopped_at is None and w.seen_at > shown.now - WORKER_SEEN_US for w in shown.reader.lists.workers())
    command = None if alive else shown.command("worker")
    return scheduled(code, run.sentence, run.deadline_at, command)


def _waiting(shown: Shown, run: RunRecord, reviews: Sequence[ReviewRecord], entries: Sequence[Entry]) -> dict[str, Any]:
    open_reviews = [review for review in reviews if review.state is ReviewState.OPEN]
    if open_reviews:
        return answer_review(shown, min(open_reviews, key=lambda review: (review.expires_at, review.number)))
    suspended = next((entry for entry in reversed(entries) if entry.kind is EntryKind.SUSPENDED), None)
    waits: list[dict[str, Any]] = [] if suspended is None else parsed(suspended.body)["data"]["waits"]
    for wait in waits:
        if wait["kind"] == "signal":
            command = shown.command("signals", "send", f"run-{run.number}", wait["id"])
            sentence = f"It waits for the signal {wait['id']} from outside."
            return next_of("send_signal", sentence, "operator", run.owner, command, wait["deadline_at"])
        paused = _paused_tap(shown, wait)
        if paused is not None:
            return resume_receiver(shown, paused, run.owner, wait["deadline_at"])
        if wait["kind"] == "child":
            child = shown.reader.get(RunRecord, wait["id"])
            if child is not None and child.state is RunState.PARKED:
                waits_too = shown.reader.find(OperationRecord, "run_id", child.run_id)
                troubles = shown.reader.find(IncidentRecord, "run_id", child.run_id)
                return parked_next(shown, child, waits_too, troubles)
    return scheduled("wake", run.sentence, run.due_at)


def _paused_tap(shown: Shown, wait: dict[str, Any]) -> TapRecord | None:
    """The receiver for which it waits, where a person paused it."""
    kind, _, name = wait["id"].partition(":") if wait["kind"] == "slot" else ("", "", "")
    tap = shown.reader.get(TapRecord, name) if kind == "receiver" else None
    return tap if tap is not None and tap.paused_at is not None else None
