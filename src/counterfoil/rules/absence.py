"""What the lookups say. "Not found" proves something only late enough, complete, and by a contract that says so."""

from counterfoil.model.contract import Contract
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.receipt import LookupRecord
from counterfoil.rules.key_window import microseconds
from counterfoil.rules.recovery_facts import Lookup
from counterfoil.rules.situation import Situation, is_closed

_FINDS = (Lookup.SEVERAL, Lookup.MISMATCH, Lookup.MATCH)  # the worst first


def lookup_fact(situation: Situation) -> Lookup:
    """What was found, or what the newest question proves, or whether to ask."""
    since = situation.weighed_before
    found = {record.result for record in situation.lookups if record.asked_at >= since}
    for find in _FINDS:
        if find in found:
            # What was seen once existed. A later "not found" does not take it back.
            return find
    if situation.contract.lookup is None:
        return Lookup.IMPOSSIBLE
    if situation.live:
        return Lookup.TOO_EARLY  # a begun attempt voids what absence said
    newest = _newest(situation, since)
    if newest is None or not situation.maybe_sent:
        return Lookup.DUE
    if newest.result == "unreachable":
        return Lookup.DUE if situation.now >= ask_again_at(situation) else Lookup.UNREACHABLE
    from_then = absence_counts_from(situation)
    if newest.asked_at < from_then:
        return Lookup.TOO_EARLY if situation.now < from_then else Lookup.DUE
    # An incomplete walk has not looked everywhere, and an unfinished restore hides who else may still send.
    proves = newest.complete and not situation.restore_open and absence_authorises(situation.contract)
    return Lookup.ABSENT_AUTH if proves else Lookup.ABSENT


def absence_authorises(contract: Contract) -> bool:
    """Whether an absence that is late and complete enough allows another send. Unknown: no."""
    lookup = contract.lookup
    if lookup is None or lookup.absence_authorises is False:
        return False
    return None not in (lookup.consistency, lookup.visible_within, lookup.arrives_within)


def absence_counts_from(situation: Situation) -> int:
    """The instant from which "not found" may count.

    The latest of each attempt's deadline, the moment its sender was proven gone, and the restore; then the time in which
    a request that left may still arrive, and the time in which an effect may still be invisible.
    """
    lookup = situation.contract.lookup
    times = (lookup.arrives_within, lookup.visible_within) if lookup is not None else ()
    allowed = sum(microseconds(time) for time in times if time is not None)
    ends = [_end(attempt) for attempt in situation.attempts if not is_closed(attempt)]
    if situation.lost_attempts:
        ends.append(situation.restore.restore_at or 0)
    return max(ends, default=0) + allowed


def ask_again_at(situation: Situation) -> int:
    """When a receiver that could not be reached is asked again."""
    lookup, newest = situation.contract.lookup, _newest(situation, situation.weighed_before)
    pause = microseconds(lookup.pause) if lookup is not None else 0
    return pause + (newest.asked_at if newest is not None else situation.now)


def _newest(situation: Situation, since: int) -> LookupRecord | None:
    """The newest question that no later attempt, and no weighing, has overtaken."""
    begun = len(situation.attempts)
    valid = [record for record in situation.lookups if record.attempts >= begun and record.asked_at >= since]
    return max(valid, key=lambda record: record.n, default=None)


def _end(attempt: AttemptRecord) -> int:
    return max(attempt.deadline_at, attempt.sender_gone_at or 0)
