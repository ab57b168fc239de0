"""A run in one sentence, the first thing that a person reads about it."""

from collections.abc import Mapping
from typing import Any

_IN_DOUBT = frozenset({"outcome_unknown", "receiver_mismatch", "order_overtaken", "inconsistent", "duplicate_found"})


def headline(run: Mapping[str, Any]) -> str:
    """From the RUN shape, records included: "Waiting for approval of draft 3.", "CRM outcome unknown; reconcile operation op-27."."""
    match run["state"]:
        case "waiting":
            return _waiting(run)
        case "parked":
            return _parked(run)
        case "completed":
            return _completed(run)
        case "failed":
            failure: Mapping[str, Any] = run["failure"] or {}
            return f"Failed: {failure.get('message') or failure.get('code') or 'see its last entry'}"
        case _:
            return str(run["sentence"])


def _waiting(run: Mapping[str, Any]) -> str:
    waits = {wait["id"] for wait in run["pending"] if wait["kind"] == "review"}
    asked = [review for review in _approvals(run) if review["review_id"] in waits]
    if not asked:
        return str(run["sentence"])
    drafts = " and ".join(f"draft {review['proposal_version']}" for review in asked)
    again = " This may already have happened." if any(review["kind"] == "renewal" for review in asked) else ""
    return f"Waiting for approval of {drafts}.{again}"


def _approvals(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """None where the person may not read approvals."""
    return run["records"]["approvals"] or []


def _parked(run: Mapping[str, Any]) -> str:
    doubts = [o for o in run["records"]["operations"] if o["operation_id"] in run["uncertain"]]
    if run["reason"] not in _IN_DOUBT or not doubts:
        return str(run["sentence"])
    operation = doubts[0]
    more = "" if len(doubts) == 1 else f", and {len(doubts) - 1} more"
    return f"{_name(operation['receiver'])} outcome unknown; reconcile operation op-{operation['number']}{more}."


def _completed(run: Mapping[str, Any]) -> str:
    done = [o for o in run["records"]["operations"] if o["status"] == "succeeded" and o["receipts"]]
    if not done:
        return "Completed."
    made = [f"{_made(o['operation'])}{o['receipts'][-1]['reference']}" for o in done[-3:]]
    before = "" if len(done) <= 3 else f", after {len(done) - 3} more"
    return f"Completed with {', '.join(made)}{before}."


def _made(operation: str) -> str:
    """`create_case` makes a case; of other verbs the receipt's reference stands alone."""
    verb, _, noun = operation.partition("_")
    return f"{noun.split('_')[0]} " if verb == "create" and noun else "receipt "


def _name(receiver: str) -> str:
    """Short names are initials: crm is CRM."""
    return receiver.upper() if len(receiver) <= 3 else receiver.capitalize()
