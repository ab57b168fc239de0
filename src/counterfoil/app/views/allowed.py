"""What may be done about an operation now, and why not the rest: the same rules as the verbs, asked before anybody acts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.shown import Shown
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import ParkReason, RunRecord, RunState
from counterfoil.rules.recovery_facts import Attempt, Facts, Key

_HELD = (ParkReason.POSSIBLE_REPEAT, ParkReason.BUSINESS_KEY_CONFLICT)
_KEYS = {
    Key.NONE: "this receiver takes no key",
    Key.BUSY: "the receiver may still be at work under it",
    Key.CLOSED: "its window is closed",
    Key.UNUSABLE: "an answer, another scope or other bytes made it unusable",
}


@dataclass(frozen=True, slots=True)
class Weighed:
    """One operation with what decides. `facts` is None where its contract is not stored. `live_until`: of an attempt that may
    still send. `forbids`: why the person may not do an act (resolve, lookup, answer, ...), None where it may.
    """

    operation: OperationRecord
    run: RunRecord
    reviews: Sequence[ReviewRecord]
    incidents: Sequence[IncidentRecord]
    facts: Facts | None
    has_lookup: bool
    live_until: int | None
    forbids: Callable[[str], str | None]


def allowed_actions(shown: Shown, weighed: Weighed) -> list[dict[str, Any]]:
    """`[{action, label, allowed, reason, command}]`; `reason` says why not, None where it is allowed."""
    held = weighed.operation.reason in _HELD and not weighed.operation.sent
    return [
        *_answer(shown, weighed),
        _lookup(shown, weighed),
        *(_hold(shown, weighed) if held else _resolutions(shown, weighed)),
        *_incident(shown, weighed),
        *_run(shown, weighed),
    ]


def _action(action: str, label: str, act: str, weighed: Weighed, reason: str | None, command: str) -> dict[str, Any]:
    # What the record forbids is said first: it forbids everybody.
    reason = reason or weighed.forbids(act)
    return {"action": action, "label": label, "allowed": reason is None, "reason": reason, "command": command}


def _answer(shown: Shown, weighed: Weighed) -> list[dict[str, Any]]:
    if not weighed.reviews:
        return []
    review, sent = weighed.reviews[-1], weighed.operation.sent
    if review.state is ReviewState.OPEN:
        command = shown.command("reviews", "approve", f"rev-{review.number}", "--digest", review.digest)
        over = "The time to answer is over." if review.expires_at <= shown.now else None
        return [_action("answer", f"Answer review rev-{review.number}", "answer", weighed, over, command)]
    if review.state is not ReviewState.APPROVED:
        return []
    command = shown.command("reviews", "withdraw", f"rev-{review.number}")
    reason = "A first attempt is recorded: what may have been sent is no longer taken back." if sent else None
    reason = "It is closed." if weighed.operation.status.closed else reason
    return [_action("withdraw", "Take the approval back", "withdraw", weighed, reason, command)]


def _lookup(shown: Shown, weighed: Weighed) -> dict[str, Any]:
    reason = None if weighed.has_lookup else "This receiver offers no lookup; follow the written procedure instead."
    command = shown.command("operations", "lookup", f"op-{weighed.operation.number}")
    return _action("lookup", "Ask the receiver now", "lookup", weighed, reason, command)


def _resolutions(shown: Shown, weighed: Weighed) -> list[dict[str, Any]]:
    reason = _not_in_doubt(weighed)
    never = (
        "It is a call of a tool that nobody declared: it is never sent again." if weighed.operation.undeclared else None
    )
    again = reason or never
    key = None if weighed.facts is None else weighed.facts.key
    same = again or (
        f"Its key may not be used again: {_KEYS[key]}." if key is not None and key is not Key.OPEN else None
    )
    return [
        _resolution(shown, weighed, "resolve_succeeded", "It happened: name the reference", ("succeeded",), reason),
        _resolution(shown, weighed, "resolve_failed", "It did not happen", ("failed",), reason),
        _resolution(shown, weighed, "send_again_same", "Send again, same key", ("send-again",), same),
        _resolution(shown, weighed, "send_again_new", "Send again, new key", ("send-again", "--new-key"), again),
    ]


def _hold(shown: Shown, weighed: Weighed) -> list[dict[str, Any]]:
    return [
        _resolution(shown, weighed, "refuse", "Refuse it: it is not meant twice", ("failed",), None),
        _resolution(shown, weighed, "allow", "Allow it as one more", ("send-again",), None),
    ]


def _resolution(
    shown: Shown, weighed: Weighed, action: str, label: str, as_: tuple[str, ...], reason: str | None
) -> dict[str, Any]:
    number, version = weighed.operation.number, str(weighed.operation.version)
    command = shown.command(
        "operations", "resolve", f"op-{number}", "--as", *as_, "--expect-version", version
    )  # fmt: skip
    return _action(action, label, "resolve", weighed, reason, command)


def _not_in_doubt(weighed: Weighed) -> str | None:
    operation, facts = weighed.operation, weighed.facts
    if operation.status.closed:
        return f"It is closed: {operation.status.value}."
    if not operation.sent:
        return "It was never sent, so there is no doubt to close."
    if facts is not None and facts.attempt is Attempt.LIVE:
        until = "" if weighed.live_until is None else f", until {rfc3339(weighed.live_until)} at the latest"
        return f"An attempt may still be under way{until}."
    return None


def _incident(shown: Shown, weighed: Weighed) -> list[dict[str, Any]]:
    incident = next((incident for incident in weighed.incidents if incident.closed_at is None), None)
    if incident is None:
        return []
    command = shown.command("incidents", "close", f"inc-{incident.number}")
    return [
        _action("close_incident", f"Close incident inc-{incident.number}", "close_incident", weighed, None, command)
    ]


def _run(shown: Shown, weighed: Weighed) -> list[dict[str, Any]]:
    run = weighed.run
    command = shown.command("runs", "cancel", f"run-{run.number}")
    ended = f"Its run ended: {run.state.value}." if run.state.ended else None
    asked = "Cancelling was asked already." if run.cancel_asked and run.state is not RunState.PARKED else None
    return [_action("cancel_run", f"Cancel run-{run.number}", "cancel", weighed, ended or asked, command)]
