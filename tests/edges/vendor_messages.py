"""Messages as vendors send them: the documented shape of each, as far as it matters, around what the receiver holds."""

from collections.abc import Mapping
from typing import Any

CREATED = 1_764_547_200


def stripe_event(type: str, object: Mapping[str, Any], *, id: str = "evt_1P", **previous: Any) -> dict[str, Any]:
    """https://docs.stripe.com/api/events/object: a snapshot of the object under `data.object`."""
    return {
        "id": id,
        "object": "event",
        "api_version": "2024-10-28.acacia",
        "created": CREATED,
        "data": {"object": dict(object), **({"previous_attributes": previous} if previous else {})},
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": type,
    }


def stripe_refund(id: str, operation_id: str | None, *, status: str = "succeeded", **more: Any) -> dict[str, Any]:
    """https://docs.stripe.com/api/refunds/object"""
    return {
        "id": id,
        "object": "refund",
        "amount": 1200,
        "charge": "ch_1NirD8",
        "created": CREATED,
        "currency": "eur",
        "metadata": {} if operation_id is None else {"operation": operation_id},
        "payment_intent": None,
        "reason": None,
        "status": status,
        **more,
    }


def stripe_intent(id: str, operation_id: str | None, *, status: str = "succeeded") -> dict[str, Any]:
    """https://docs.stripe.com/api/payment_intents/object"""
    return {
        "id": id,
        "object": "payment_intent",
        "amount": 4901,
        "created": CREATED,
        "currency": "eur",
        "latest_charge": "ch_3Mtw",
        "metadata": {} if operation_id is None else {"operation": operation_id},
        "status": status,
    }


def _of_github(**said: Any) -> dict[str, Any]:
    repository = {"id": 186853002, "name": "shop", "full_name": "acme/shop", "private": False}
    return {**said, "repository": repository, "sender": {"login": "robot", "id": 21031067, "type": "Bot"}}


def github_comment(id: int, body: str, *, action: str = "created") -> dict[str, Any]:
    """https://docs.github.com/en/webhooks/webhook-events-and-payloads#issue_comment"""
    comment = {"id": id, "node_id": "MDEyOk", "user": {"login": "robot"}, "body": body, "author_association": "MEMBER"}
    return _of_github(action=action, issue={"number": 1, "title": "Spelling", "state": "open"}, comment=comment)


def github_closed(merge_commit: str | None, *, merged: bool = True) -> dict[str, Any]:
    """https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request"""
    pull = {
        "number": 1,
        "state": "closed",
        "title": "Take it in",
        "merged": merged,
        "merge_commit_sha": merge_commit,
        "head": {"ref": "changes", "sha": "5f3c1d0e" * 5},
        "base": {"ref": "main"},
        "merged_by": {"login": "robot"} if merged else None,
    }
    return _of_github(action="closed", number=1, pull_request=pull)


def github_push(commit: str, message: str) -> dict[str, Any]:
    """https://docs.github.com/en/webhooks/webhook-events-and-payloads#push"""
    head = {"id": commit, "message": message, "timestamp": "2026-11-30T10:00:00Z", "author": {"name": "robot"}}
    return _of_github(ref="refs/heads/main", before="0" * 40, after=commit, commits=[head], head_commit=head)
