"""From records to facts. Pure: everything that decides is in the situation; nothing is looked up here."""

import json
from typing import Any

from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.rules.absence import absence_counts_from, ask_again_at, at_work, lookup_fact, polled_at
from counterfoil.rules.authority import is_about
from counterfoil.rules.evidence import attempt_fact, evidence_fact, sender_fact, sent_fact
from counterfoil.rules.key_window import busy_until, key_fact, repeat_until
from counterfoil.rules.recovery_facts import (
    Attempt,
    Authority,
    Budget,
    Facts,
    Key,
    Lookup,
    Resolution,
    Sender,
    Status,
    Stop,
)
from counterfoil.rules.situation import Situation, is_live

__all__ = ["Situation", "gather", "next_look_at"]


def gather(situation: Situation) -> Facts:
    """The facts over all attempts, for `rules.recovery.rule`."""
    lookup = lookup_fact(situation)
    sender = sender_fact(situation)
    resolution = resolution_fact(situation)
    # Absence with its sender gone closes every try that was left.
    absence_closes = lookup is Lookup.ABSENT_AUTH and sender is Sender.GONE
    return Facts(
        status=Status(situation.operation.status.value),
        stop=stop_fact(situation),
        authority=authority_fact(situation),
        sent=sent_fact(situation),
        attempt=attempt_fact(situation),
        sender=sender,
        evidence=evidence_fact(situation, absence_closes=absence_closes),
        key=key_fact(situation, resolution),
        lookup=lookup,
        resolution=resolution,
        budget=Budget(situation.budget),
    )


def next_look_at(situation: Situation) -> int | None:
    """When the facts may change by the passing of time alone; None: only something from outside changes them."""
    facts, now = gather(situation), situation.now
    times: list[int | None] = [situation.next_try_at if facts.budget is Budget.NOT_YET else None]
    if facts.attempt is Attempt.LIVE:
        times += [attempt.deadline_at for attempt in situation.attempts if is_live(attempt, now)]
    if facts.key is Key.BUSY:
        times.append(busy_until(situation))
    if facts.key is Key.OPEN:
        until = repeat_until(situation)
        times.append(until + 1 if until is not None else None)  # from then on a repeat is no longer harmless
    if facts.lookup is Lookup.TOO_EARLY:
        times.append(absence_counts_from(situation))
        times.append(polled_at(situation) if at_work(situation) else None)
    if facts.lookup is Lookup.UNREACHABLE:
        times.append(ask_again_at(situation))
    if situation.review is not None and facts.authority in (Authority.PENDING, Authority.VALID):
        times.append(situation.review.expires_at)
    return min((time for time in times if time is not None and time > now), default=None)


def stop_fact(situation: Situation) -> Stop:
    """An open incident first: the table must see it, or it would open another one each time."""
    if situation.incident_open:
        return Stop.INCIDENT
    if situation.restore_open:
        return Stop.RESTORED
    return Stop.NONE if situation.stop is None else Stop(situation.stop)


def resolution_fact(situation: Situation) -> Resolution:
    """A person's word, as long as it is about the doubt as it stands."""
    operation = situation.operation
    if operation.resolution is None or operation.status.closed:
        return Resolution.NONE
    if situation.live:
        return Resolution.NONE
    said: dict[str, Any] = json.loads(operation.resolution)
    if said["as"] in ("succeeded", "failed"):
        return Resolution(said["as"])
    # An order to send again is used up by the attempt that followed it; it never authorises two.
    if any(attempt.started_at >= (operation.resolved_at or 0) for attempt in situation.attempts):
        return Resolution.NONE
    return Resolution.AGAIN_NEW if said.get("new_key") else Resolution.AGAIN_SAME


def authority_fact(situation: Situation) -> Authority:
    """Checked on every attempt, with the reviewer's authority as it is now (design section 2, rule 8)."""
    if situation.operation.withdrawn is not None:
        return Authority.WITHDRAWN  # also a cancelled run: it may be asked about, never sent
    if not situation.review_needed:
        return Authority.NOT_NEEDED
    review = situation.review
    if review is None or review.state is ReviewState.SUPERSEDED:
        return Authority.MISSING
    if review.state is ReviewState.REJECTED:
        # Asked for a revision before anything left, the operation waits for its next version.
        waits = review.ask_revision and not situation.maybe_sent
        return Authority.PENDING if waits else Authority.REJECTED
    if review.state is ReviewState.EXPIRED or review.expires_at <= situation.now:
        return Authority.EXPIRED
    if review.state is ReviewState.OPEN:
        return Authority.PENDING
    return _approved(review, situation)


def _approved(review: ReviewRecord, situation: Situation) -> Authority:
    operation = situation.operation
    # A restore takes back what was used and what was revoked: every approval from before it is void.
    if review.void is not None or review.incarnation < situation.restore.incarnation:
        return Authority.REVOKED
    bound = (
        situation.signed
        and review.operation_id == operation.operation_id
        and is_about(review, operation.payload_digest)
        and review.proposal_version == operation.proposal_version
        and review.used_by in (None, *(attempt.attempt_id for attempt in situation.attempts))  # one use
        and _scope_holds(json.loads(review.scope or "{}"), situation)
    )
    if not bound:
        return Authority.MISMATCHED
    return Authority.VALID if situation.authority_now else Authority.REVOKED


def _scope_holds(scope: dict[str, Any], situation: Situation) -> bool:
    """Each part that the approval names must be as it was approved."""
    operation = situation.operation
    now = {
        "operation": operation.name,
        "operation_id": operation.operation_id,
        "receiver": operation.receiver,
        "environment": operation.environment,
        "business_key": operation.business_key,
        "scope": situation.approval_scope_now or situation.scope_now,
    }
    return all(now[name] == value for name, value in scope.items() if name in now)
