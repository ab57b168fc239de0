"""What the answers say over all attempts of an operation (design section 2, rules 3, 5 and 6)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.operation import AttemptRecord, OperationStatus
from counterfoil.rules.classify import status_class
from counterfoil.rules.key_window import inside_window
from counterfoil.rules.recovery_facts import Attempt, Evidence, Sender, Sent
from counterfoil.rules.situation import Situation, is_closed

TOLD = ("reply", "webhook")
UNNAMED = "unnamed"  # begins what stands for a reference where an applied answer shows none


@dataclass(frozen=True, slots=True)
class Sighting:
    """One record that a lookup saw: the receiver's reference, and the digest of its content (None: existence only)."""

    reference: str
    digest: str | None


def attempt_fact(situation: Situation) -> Attempt:
    """Live if any attempt may still send: one live attempt is enough to forbid another."""
    if not situation.attempts:
        return Attempt.NONE
    return Attempt.LIVE if situation.live else Attempt.OVER


def sent_fact(situation: Situation) -> Sent:
    """No only where it is proven. Maybe is the default."""
    return Sent.MAYBE if situation.maybe_sent else Sent.NO


def sender_fact(situation: Situation) -> Sender:
    """Gone only when proven for every attempt that is not closed. A passed deadline or a lost lease proves nothing."""
    if situation.live or not situation.maybe_sent:
        return Sender.NOT_PROVEN  # still there, or nobody to be gone
    if situation.restore_open or not (situation.attempts or situation.lost_attempts):
        return Sender.NOT_PROVEN  # whoever sent in the stretch we have lost may still be at it
    gone = all(proven_gone(attempt, situation) for attempt in open_attempts(situation))
    return Sender.GONE if gone else Sender.NOT_PROVEN


def proven_gone(attempt: AttemptRecord, situation: Situation) -> bool:
    """Its sender recorded its end, the lock of its process is free, or a person said so by finishing a restore."""
    restore = situation.restore
    return attempt.sender_gone_at is not None or (
        restore.restore_state == "finished"
        and restore.restore_at is not None
        and attempt.started_at <= restore.restore_at
    )


def open_attempts(situation: Situation) -> list[AttemptRecord]:
    """Attempts that may have had an effect: not closed by themselves, nor by a refusal stored under their key."""
    closers = [attempt for attempt in situation.attempts if _is_stored_refusal(attempt, situation)]
    return [
        attempt
        for attempt in situation.attempts
        if not is_closed(attempt) and not any(_closes(closer, attempt) for closer in closers)
    ]


def _is_stored_refusal(attempt: AttemptRecord, situation: Situation) -> bool:
    """The receiver replayed a refusal that it keeps under the key: it then speaks for every try under that key.

    Without the mark of a replay the refusal may be this try's own, while an earlier one had its effect. Outside the
    window the receiver has forgotten the earlier one.
    """
    key = situation.contract.key
    if (
        key is None
        or attempt.answer_class != Meaning.REFUSED
        or attempt.answer_status is None
        or attempt.exchange is None
    ):
        return False
    if status_class(attempt.answer_status) not in (key.saves or {"2xx"}):
        return False
    if json.loads(attempt.exchange).get("replayed") is not True:
        return False
    return inside_window(situation, attempt)


def _closes(closer: AttemptRecord, other: AttemptRecord) -> bool:
    """Only a try under the same key in the same scope, begun before the replay was asked for and no longer on its way."""
    return (
        other.key_number == closer.key_number
        and other.idempotency_key == closer.idempotency_key
        and other.scope == closer.scope
        and other.started_at <= closer.started_at
    )


def evidence_fact(situation: Situation, *, absence_closes: bool) -> Evidence:
    """`absence_closes`: an authoritative absence with its sender gone has closed every try that was left."""
    since = situation.weighed_before
    accepted = any(
        receipt.how in ("reply", "webhook", "statement") and receipt.received_at >= since
        for receipt in situation.receipts
    ) or any(_answered(attempt, Meaning.APPLIED, since) for attempt in situation.attempts)
    if accepted or _stands(situation):
        return Evidence.ACCEPTED
    if not situation.maybe_sent:
        return Evidence.NONE
    # An answer weighed by a closing says nothing new; over an open operation every refusal of an attempt stays.
    after = since if situation.operation.status.closed else 0
    if not any(_answered(attempt, Meaning.REFUSED, after) for attempt in situation.attempts):
        return Evidence.NONE
    # A refusal closes its own attempt only. Attempts lost by a restore are open, whatever the known ones say.
    left_open = (open_attempts(situation) or situation.lost_attempts) and not absence_closes
    return Evidence.PARTLY if left_open else Evidence.REFUSED


def _answered(attempt: AttemptRecord, meaning: Meaning, since: int) -> bool:
    return attempt.answer_class == meaning and (attempt.answer_at or 0) >= since


def _stands(situation: Situation) -> bool:
    """The answer that closed a success goes on supporting it, though it is no longer new."""
    return situation.operation.status is OperationStatus.SUCCEEDED and any(
        attempt.answer_class == Meaning.APPLIED for attempt in situation.attempts
    )


def names_two(situation: Situation) -> bool:
    """Two answers that are no replays name two records, and one of them is new: one intention has had two effects.

    As when a request was on its way for longer than the receiver keeps its key. A replay speaks of the first effect,
    whatever it shows of it. What a webhook names counts only where the contract says where the same reference stands in it
    (only then it is a first result); what a statement or a person names may be a number of another kind.
    """
    told = [
        receipt
        for receipt in situation.receipts
        if receipt.proves == "first_result" and receipt.how in TOLD and not receipt.reference.startswith(UNNAMED)
    ]
    new = any(receipt.received_at >= situation.weighed_before for receipt in told)
    return new and len({receipt.reference for receipt in told}) > 1


def judge_sightings(contract: Contract, payload_digest: str, seen: Sequence[Sighting]) -> str:
    """`match`, `mismatch`, `several` or `absent`: the rules say so, not the lookup's function.

    A record shows existence, not authorship. Equal content is ours. Where the content cannot be compared, only a search
    by our own operation id or key makes the record ours; a conflict that means "it exists" is otherwise a mismatch.
    """
    if not seen:
        return "absent"
    if len({sighting.reference for sighting in seen}) > 1:
        return "several"
    by_our_mark = contract.lookup is not None and contract.lookup.finds_by in ("operation_id", "key")
    for sighting in seen:
        if sighting.digest is None and not by_our_mark:
            return "mismatch"
        if sighting.digest is not None and sighting.digest != payload_digest:
            return "mismatch"
    return "match"
