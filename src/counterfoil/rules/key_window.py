"""Whether a repeat under the newest key is harmless: window, scope, bytes, and what the answers so far do to the key."""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta

from counterfoil.model import ids
from counterfoil.model.contract import Contract, IdempotencyKey, Meaning
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.rules.classify import status_class
from counterfoil.rules.recovery_facts import Key, Resolution
from counterfoil.rules.situation import Situation, is_closed

_US = timedelta(microseconds=1)
_HOUR = timedelta(hours=1) // _US
BUSY_PAUSE = timedelta(seconds=5) // _US  # until a receiver that is at work is asked again, unless it says when
_SPENT_KEY = (Meaning.KEY_POISONED, Meaning.KEY_MISMATCH)


def microseconds(duration: timedelta) -> int:
    """A duration as integer microseconds."""
    return duration // _US


def key_of(contract: Contract, operation: OperationRecord, key_number: int) -> str | None:
    """What the receiver gets as key: the same for every attempt under one key number, so that a repeat is known as one."""
    return None if contract.key is None else ids.encode_key(operation.operation_id, key_number, contract.key.format)


def key_fact(situation: Situation, resolution: Resolution) -> Key:
    """What the newest key number is good for now."""
    contract, attempts = situation.contract, under_newest_key(situation)
    if contract.key is None:
        # Create-if-absent and expected version need no window: the receiver itself refuses the second effect.
        return Key.NONE if contract.precondition is None else _busy_or_open(situation, attempts)
    if _unusable(situation, attempts, contract.key):
        return Key.UNUSABLE
    if contract.precondition is not None:
        return _busy_or_open(situation, attempts)
    if _closed(situation, attempts, contract.key, resolution):
        return Key.CLOSED
    return _busy_or_open(situation, attempts)


def under_newest_key(situation: Situation) -> list[AttemptRecord]:
    """The attempts that may have carried the newest key number to the receiver."""
    number = situation.operation.key_number
    return [
        attempt
        for attempt in situation.attempts
        if attempt.key_number == number and (attempt.sent or attempt.ended_at is None)
    ]


def repeat_until(situation: Situation) -> int | None:
    """The last instant at which a repeat under the newest key is still inside the window; None: no window runs."""
    key = situation.contract.key
    if key is None or situation.contract.precondition is not None:
        return None
    start = _window_start(situation, key)
    if start is None:
        return None
    window = _window(key)
    # A repeat begun now arrives at worst after its own timeout and the late-arrival time: that, too, must be inside.
    needed = microseconds(situation.contract.request_timeout) + _late(situation.contract, window) + _margin(key, window)
    return start + window - needed


def window_over(situation: Situation) -> bool:
    """A repeat begun now may meet a receiver that has forgotten the key: it would act again."""
    key, until = situation.contract.key, repeat_until(situation)
    if key is not None and key.after_window == "refuses":
        return False  # it answers that it no longer knows, and does nothing
    return until is not None and situation.now > until


def inside_window(situation: Situation, attempt: AttemptRecord) -> bool:
    """This attempt reached the receiver while the key of the first one was surely kept."""
    until = repeat_until(situation)
    return until is not None and attempt.started_at <= until


def busy_until(situation: Situation) -> int | None:
    """Until when the receiver is taken to be at work under the newest key; None: it is not."""
    attempts = under_newest_key(situation)
    times = [(a.answer_at or a.started_at) + BUSY_PAUSE for a in attempts if a.answer_class == Meaning.IN_PROGRESS]
    if times and situation.operation.in_progress_until is not None:
        times.append(situation.operation.in_progress_until)
    key = situation.contract.key
    if key is not None and key.in_progress in ("refuses", "both_may_fail"):
        # A repeat that meets the first one would be refused for that alone, which says nothing about the first.
        late = _late(situation.contract, _window(key))
        unanswered = [attempt for attempt in attempts if attempt.answer_at is None and not is_closed(attempt)]
        times += [_end(attempt) + late for attempt in unanswered]
    waiting = [time for time in times if time > situation.now]
    return max(waiting, default=None)


def scope_digest(contract: Contract, parts: Mapping[str, str]) -> str:
    """The digest of what narrows the key: `endpoint`, `environment`, `credential`, `region`, `session` as they are now.

    Unknown scope: everything narrows it that we can see change, except the session: a new process is a new session.
    Where the contract declares the session, a key is good only within the one process that used it.
    """
    declared = contract.key.scope if contract.key is not None else None
    narrowing = (
        {"endpoint", "environment", "credential", "region"} if declared is None else set(declared) | {"environment"}
    )
    seen = "\x1e".join(f"{name}\x1f{parts.get(name, '')}" for name in sorted(narrowing))
    return "sha256:" + hashlib.sha256(seen.encode()).hexdigest()


def same_bytes(situation: Situation, request_digest: str) -> bool:
    """Whether these bytes may go out under the newest key: equal to all earlier ones, or the receiver rejects others."""
    key = situation.contract.key
    if key is None or key.other_body == "rejects":
        return True
    return all(attempt.request_digest == request_digest for attempt in under_newest_key(situation))


def _busy_or_open(situation: Situation, attempts: list[AttemptRecord]) -> Key:
    return Key.BUSY if attempts and busy_until(situation) is not None else Key.OPEN


def _unusable(situation: Situation, attempts: list[AttemptRecord], key: IdempotencyKey) -> bool:
    if situation.operation.key_state is not None or any(attempt.answer_class in _SPENT_KEY for attempt in attempts):
        return True
    if _says_no_more(attempts, key):
        return True
    # The same key in another scope (credential rotated, other region, new login) acts again.
    attempts = [attempt for attempt in attempts if not is_closed(attempt)]
    if any(attempt.scope != situation.scope_now for attempt in attempts):
        return True
    if key.other_body == "rejects":
        return False
    # Elsewhere the same key with other bytes is a second effect, overwrites, or is answered with the first one's
    # answer. After a restore the bytes of the lost attempts are unknown.
    return situation.lost_attempts or len({attempt.request_digest for attempt in attempts}) > 1


def _says_no_more(attempts: list[AttemptRecord], key: IdempotencyKey) -> bool:
    """The trap of the saved 500: an error that is kept under the key is all that this key will ever answer.

    A success that cannot be understood may be the word of something in between; the second one shows that it is not.
    """
    saves = key.saves or {"2xx"}
    told = [_answer_class_of(a) for a in attempts if a.answer_class == Meaning.AMBIGUOUS and _told_whole(a)]
    kept = [answer for answer in told if answer in saves]
    return any(answer != "2xx" for answer in kept) or len(kept) > 1


def _told_whole(attempt: AttemptRecord) -> bool:
    """A reply that was cut says nothing about what is saved: the repeat may bring the rest."""
    return attempt.exchange is None or json.loads(attempt.exchange).get("problem") is None


def _closed(situation: Situation, attempts: list[AttemptRecord], key: IdempotencyKey, resolution: Resolution) -> bool:
    if window_over(situation):
        return True
    # An answer of a class that the receiver does not save: the effect may be there and the key unknown.
    saves = key.saves or {"2xx"}
    for attempt in attempts:
        answered = _answer_class_of(attempt)
        unsaved = answered is not None and answered not in saves and attempt.answer_class == Meaning.AMBIGUOUS
        if unsaved and key.unsaved != "resumes":
            return True
    if key.lock_timeout is not None and _lock_may_let_go(situation, attempts, key.lock_timeout):
        return True
    # A key number that no open try has used protects against none of them. Only a person orders that, for one attempt.
    used = any(not is_closed(attempt) for attempt in attempts)
    left_open = any(not is_closed(attempt) for attempt in situation.attempts)
    return left_open and not used and resolution is not Resolution.AGAIN_NEW


def _lock_may_let_go(situation: Situation, attempts: list[AttemptRecord], lock: timedelta) -> bool:
    """The receiver lets go of its lock though the first request may still run: a repeat would then run beside it."""
    needed = microseconds(situation.contract.request_timeout) + _late(situation.contract, microseconds(lock))
    running = [
        attempt
        for attempt in attempts
        if not is_closed(attempt) and (attempt.answer_status is None or attempt.answer_class == Meaning.IN_PROGRESS)
    ]
    return any(situation.now + needed > attempt.started_at + microseconds(lock) for attempt in running)


def _answer_class_of(attempt: AttemptRecord) -> str | None:
    return None if attempt.answer_status is None else status_class(attempt.answer_status)


def _end(attempt: AttemptRecord) -> int:
    return max(attempt.deadline_at, attempt.sender_gone_at or 0)


def _window(key: IdempotencyKey) -> int:
    retention = key.account_retention if key.account_retention is not None else key.retention
    return 0 if retention is None else microseconds(retention)


def _margin(key: IdempotencyKey, window: int) -> int:
    return min(_HOUR, window // 10) if key.margin is None else microseconds(key.margin)


def _late(contract: Contract, window: int) -> int:
    """The late-arrival time; unknown: an hour, or a quarter of a shorter window."""
    for part in (contract.key, contract.lookup):
        if part is not None and part.arrives_within is not None:
            return microseconds(part.arrives_within)
    return min(_HOUR, window // 4)


def _window_start(situation: Situation, key: IdempotencyKey) -> int | None:
    """The earliest instant from which the receiver may count the window of the newest key."""
    attempts = under_newest_key(situation)
    if situation.lost_attempts or (situation.maybe_sent and not situation.attempts):
        # An attempt that we do not know may be as old as the operation; and what was derived while a restore was unfinished
        # may have been sent under its name before, at any time since the restored head.
        operation = situation.operation
        return min(operation.prepared_at, operation.first_sent_at or operation.prepared_at)
    starts = [attempt.started_at for attempt in attempts]
    if key.clock in ("first_accepted", "completion", "close"):
        # What was answered before execution, or never arrived, was never accepted and started no clock.
        starts = [a.started_at for a in attempts if not is_closed(a) or a.answer_class == Meaning.REFUSED]
    if key.clock in ("completion", "close"):
        # "At work" proves that it was not complete when that attempt began.
        working = [attempt.started_at for attempt in attempts if attempt.answer_class == Meaning.IN_PROGRESS]
        return max(min(starts), max(working, default=0)) if starts else None
    return min(starts, default=None)
