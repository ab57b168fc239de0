"""The limits of a receiver, kept by all workers in the transaction that marks in flight.

A slot is a row that ends with its attempt, or at the attempt's deadline, which a sender that lives prolongs: a worker that dies
leaks none. The bucket is a row of its own. Batches of all workers follow one another, so both are exact, and nothing is drawn
ahead that could be lost.
"""

from dataclasses import dataclass

from counterfoil.model.exchange import Exchange
from counterfoil.model.moments import rfc3339
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.slots import Rate, SlotRecord, TapRecord, named, receiver_pool, waits_for_slot
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
    if tap.rate is not None:
        tx.put(rules.drawn(tx.get(TapRecord, tap.receiver) or rules.new_tap(tap.receiver), tap.rate, tx.now))


def give_back(tx: Transaction, tap: Tap | None, attempt_id: str, exchange: Exchange | None = None) -> None:
    """The attempt is over. A receiver that asks for a pause is left alone by everybody."""
    if tap is None:
        return
    if tap.concurrency is not None:
        tx.drop(SlotRecord, tap.pool, attempt_id)
    asked = None if exchange is None or exchange.status not in rules.CLOSES else retry_after_us(exchange.headers)
    if asked and exchange is not None and exchange.status is not None:
        row = tx.get(TapRecord, tap.receiver) or rules.new_tap(tap.receiver)
        tx.put(rules.closed(row, exchange.status, asked, tx.now))


def rate_text(rate: Rate) -> str:
    """A rate in words: `100 in 60 s, 10 at once`."""
    burst = "" if rate.at_once == rate.count else f", {rate.at_once} at once"
    return f"{rate.count} in {rate.per.total_seconds():g} s{burst}"


def _taken(tx: Transaction, tap: Tap) -> list[SlotRecord]:
    return [slot for slot in tx.find(SlotRecord, "pool", tap.pool) if (slot.until or 0) > tx.now]
