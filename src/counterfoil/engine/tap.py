"""The limits of a receiver, its breaker and its pause, kept by all workers in the transaction that marks in flight.

A slot is a row that ends with its attempt, or at the attempt's deadline, which a sender that lives prolongs: a worker that dies
leaks none. The bucket is a row of its own. Batches of all workers follow one another, so both are exact, and nothing is drawn
ahead that could be lost.
"""

from dataclasses import dataclass

from counterfoil.model.breaker import Breaker
from counterfoil.model.exchange import Exchange
from counterfoil.model.journal import EntryKind
from counterfoil.model.moments import rfc3339
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.slots import Rate, SlotRecord, TapRecord, named, receiver_pool, waits_for_slot
from counterfoil.rules import breaker as breaking
from counterfoil.rules import tap as rules
from counterfoil.rules.retry import retry_after_us
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

LOOK_US = 1_000_000  # so soon whoever waits in memory looks again; one that has left memory is woken when there is room


@dataclass(frozen=True, slots=True)
class Tap:
    """The limits of a receiver, as this process declares them."""

    receiver: str
    concurrency: int | None = None
    rate: Rate | None = None
    breaker: Breaker | None = None

    @property
    def pool(self) -> str:
        return receiver_pool(self.receiver)


@dataclass(frozen=True, slots=True)
class Held:
    """Why nothing may leave now, and when to look again. It goes on by itself."""

    pool: str
    sentence: str
    until: int


def tap_reads(tap: Tap | None) -> tuple[Read, ...]:
    """What `held_by_tap` and `take_slot` look at."""
    if tap is None:
        return ()
    slots = () if tap.concurrency is None else (Read.by(SlotRecord, "pool", tap.pool),)
    return (Read.key(TapRecord, tap.receiver), *slots)


def held_by_tap(tx: Transaction, tap: Tap | None) -> Held | None:
    """Why another attempt may not leave now. None: it may."""
    if tap is None:
        return None
    row = tx.get(TapRecord, tap.receiver)
    paused = None if row is None else paused_text(row, tap.breaker, tx.now)
    if paused is not None:
        return Held(tap.pool, paused[0], paused[1] or tx.now + LOOK_US)
    closed = rules.closed_until(row, tx.now)
    if closed is not None and row is not None:
        asked = f"{named(tap.pool)} answered {row.closed_by} and asked to be left alone until {rfc3339(closed)}."
        return Held(tap.pool, asked[0].upper() + asked[1:], closed)
    if tap.concurrency is not None:
        taken = [slot.until or tx.now for slot in _taken(tx, tap)]
        if len(taken) >= tap.concurrency:
            sentence = waits_for_slot(tap.pool, len(taken), tap.concurrency)
            return Held(tap.pool, sentence, max(tx.now + 1, min(*taken, tx.now + LOOK_US)))
    if tap.rate is not None and (free := rules.free_at(row, tap.rate)) > tx.now:
        sentence = f"Waits for the rate of {named(tap.pool)}, {rate_text(tap.rate)}."
        return Held(tap.pool, sentence, free)
    return None


def take_slot(tx: Transaction, tap: Tap | None, attempt: AttemptRecord) -> None:
    """The attempt leaves: it takes a slot until its deadline at the latest, and one from the bucket."""
    if tap is None:
        return
    if tap.concurrency is not None:
        for slot in tx.find(SlotRecord, "pool", tap.pool):
            if (slot.until or 0) <= tx.now:
                tx.drop(SlotRecord, slot.pool, slot.holder)
        tx.put(SlotRecord(tap.pool, attempt.attempt_id, attempt.run_id, attempt.deadline_at))
    before = tx.get(TapRecord, tap.receiver) or rules.new_tap(tap.receiver)
    row = before if tap.rate is None else rules.drawn(before, tap.rate, tx.now)
    if tap.breaker is not None:
        row = breaking.tried(row, attempt.attempt_id, attempt.deadline_at)
    if row is not before:
        tx.put(row)


def give_back(tx: Transaction, tap: Tap | None, attempt_id: str, exchange: Exchange | None = None) -> None:
    """The attempt is over. A receiver that asks for a pause is left alone by everybody, and so is one that its breaker pauses."""
    if tap is None:
        return
    if tap.breaker is not None:
        _told(tx, tap, tap.breaker, attempt_id, exchange)
    if tap.concurrency is not None:
        tx.drop(SlotRecord, tap.pool, attempt_id)
    asked = None if exchange is None or exchange.status not in rules.CLOSES else retry_after_us(exchange.headers)
    if asked and exchange is not None and exchange.status is not None:
        row = tx.get(TapRecord, tap.receiver) or rules.new_tap(tap.receiver)
        tx.put(rules.closed(row, exchange.status, asked, tx.now))


def paused_text(row: TapRecord, breaker: Breaker | None, now: int) -> tuple[str, int | None] | None:
    """Why a receiver is paused, as everybody reads it, and until when; None for the time: until a person ends it.

    None: it is not paused. A pause of a breaker that this code does not declare any more is none.
    """
    called = f"Receiver {row.receiver}"
    if row.paused_at is not None:
        return f"{called} is paused by {row.paused_by} since {rfc3339(row.paused_at)}: {row.paused_reason}", None
    until = None if breaker is None else breaking.holds_until(row, now)
    if until is None:
        return None
    failed = f"{row.failures} attempts in a row failed, the last one {row.problem}"
    if until == row.open_until:
        return f"{called} is paused by its breaker until {rfc3339(until)}: {failed}.", until
    return f"{called} is paused by its breaker while one attempt tries: {failed}.", until


def _told(tx: Transaction, tap: Tap, breaker: Breaker, attempt_id: str, exchange: Exchange | None) -> None:
    """What an attempt says of its receiver. A pause that begins or ends by itself is an entry of the installation's chain."""
    before = tx.get(TapRecord, tap.receiver)
    row = breaking.after(before or rules.new_tap(tap.receiver), breaker, exchange, attempt_id, tx.now)
    if row == (before or rules.new_tap(tap.receiver)):
        return
    tx.put(row)
    if breaking.opened_by(before, row):
        said = f"{row.failures} attempts in a row failed, the last one {row.problem}"
        _entry(tx, tap.receiver, paused=True, reason=said, until=row.open_until)
    elif before is not None and before.open_until is not None and row.open_until is None:
        _entry(tx, tap.receiver, paused=False, reason="an attempt was answered")


def _entry(tx: Transaction, receiver: str, **said: object) -> None:
    data = {**said, "by": None, "breaker": True}
    tx.append(tx.installation.installation_id, EntryKind.WRITES, name=f"receiver:{receiver}", data=data)


def rate_text(rate: Rate) -> str:
    """A rate in words: `100 in 60 s, 10 at once`."""
    burst = "" if rate.at_once == rate.count else f", {rate.at_once} at once"
    return f"{rate.count} in {rate.per.total_seconds():g} s{burst}"


def _taken(tx: Transaction, tap: Tap) -> list[SlotRecord]:
    return [slot for slot in tx.find(SlotRecord, "pool", tap.pool) if (slot.until or 0) > tx.now]
