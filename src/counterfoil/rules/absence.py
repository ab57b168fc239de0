"""What the lookups say. "Not found" proves something only late enough, complete, and by a contract that says so."""

from collections.abc import Sequence
from datetime import timedelta

from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.receipt import LookupRecord
from counterfoil.rules.budget import pause_before
from counterfoil.rules.evidence import names_two
from counterfoil.rules.key_window import microseconds
from counterfoil.rules.recovery_facts import Lookup
from counterfoil.rules.situation import Situation, is_closed

LONGEST_PAUSE_US = timedelta(minutes=15) // timedelta(microseconds=1)
_FINDS = (Lookup.SEVERAL, Lookup.MISMATCH, Lookup.MATCH)  # the worst first


def lookup_fact(situation: Situation) -> Lookup:
    """What was found, or what the newest question proves, or whether to ask."""
    since = situation.weighed_before
    found = {record.result for record in situation.lookups if record.asked_at >= since}
    if names_two(situation):
        found.add(Lookup.SEVERAL)  # its own answers show as much as a lookup would
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
        if situation.now - _unreachable(situation, newest)[0].asked_at >= situation.patience_us:
            # Its owner's time is over: a person hears of it. The reconcile duty goes on asking, and an answer closes it.
            return Lookup.IMPOSSIBLE
        return Lookup.DUE if situation.now >= ask_again_at(situation) else Lookup.UNREACHABLE
    from_then = absence_counts_from(situation)
    if newest.asked_at < from_then:
        due = situation.now >= from_then or (at_work(situation) and situation.now >= polled_at(situation))
        return Lookup.DUE if due else Lookup.TOO_EARLY
    return Lookup.ABSENT_AUTH if _proves(situation, newest) else Lookup.ABSENT


def _proves(situation: Situation, newest: LookupRecord) -> bool:
    """An incomplete walk has not looked everywhere, and an unfinished restore hides who else may still send."""
    if at_work(situation) and situation.contract.completes_within is None:
        return False  # it took the request and never said by when it is done
    return bool(newest.complete) and not situation.restore_open and absence_authorises(situation.contract)


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
    ends = [_end(attempt) for attempt in situation.attempts if not is_closed(attempt)]
    if situation.lost_attempts:
        ends.append(situation.restore.restore_at or 0)
    working = situation.contract.completes_within if at_work(situation) else None
    return max(ends, default=0) + hidden_for(situation.contract) + (0 if working is None else microseconds(working))


def at_work(situation: Situation) -> bool:
    """The receiver took the request and answered that it does it later (202)."""
    return situation.contract.stages == "asynchronous" and any(
        attempt.answer_class == Meaning.IN_PROGRESS for attempt in situation.attempts
    )


def polled_at(situation: Situation) -> int:
    """When a receiver that is at work is asked again: after the pause, then more and more seldom."""
    lookup, newest = situation.contract.lookup, _newest(situation, situation.weighed_before)
    if lookup is None or newest is None:
        return situation.now
    waited = newest.asked_at - max(attempt.started_at for attempt in situation.attempts)
    return newest.asked_at + max(microseconds(lookup.pause), waited // 2)


def hidden_for(contract: Contract) -> int:
    """How long an effect may stay out of sight, in microseconds: until its request arrives, then until lookups show it."""
    lookup = contract.lookup
    times = (lookup.arrives_within, lookup.visible_within) if lookup is not None else ()
    return sum(microseconds(time) for time in times if time is not None)


def ask_again_at(situation: Situation) -> int:
    """When a receiver that could not be reached is asked again: after the pause, then after twice as long each time.

    At last every quarter of an hour, or each pause where that is longer; and at the latest when its owner's time is over.
    """
    lookup, newest = situation.contract.lookup, _newest(situation, situation.weighed_before)
    if lookup is None or newest is None:
        return situation.now
    in_vain, pause = _unreachable(situation, newest), microseconds(lookup.pause)
    again = newest.asked_at + pause_before(len(in_vain), pause, max(pause, LONGEST_PAUSE_US))
    told_at = in_vain[0].asked_at + situation.patience_us
    return min(again, told_at) if told_at > newest.asked_at else again


def _unreachable(situation: Situation, newest: LookupRecord) -> Sequence[LookupRecord]:
    """The questions in vain since the receiver was last reached, the oldest first. `newest` is one of them."""
    before = sorted((record for record in situation.lookups if record.n <= newest.n), key=lambda record: record.n)
    reached = max((i for i, record in enumerate(before) if record.result != "unreachable"), default=-1)
    return before[reached + 1 :]


def _newest(situation: Situation, since: int) -> LookupRecord | None:
    """The newest question that no later attempt, and no weighing, has overtaken."""
    begun = len(situation.attempts)
    valid = [record for record in situation.lookups if record.attempts >= begun and record.asked_at >= since]
    return max(valid, key=lambda record: record.n, default=None)


def _end(attempt: AttemptRecord) -> int:
    return max(attempt.deadline_at, attempt.sender_gone_at or 0)
