"""A receiver that answers a read by asking for a pause is left alone by all workers, as after such an answer to a write."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from counterfoil.engine.opened import Opened
from counterfoil.engine.verb import RunVerb
from counterfoil.model.exchange import Exchange
from counterfoil.model.slots import TapRecord
from counterfoil.rules import tap as rules
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class LeaveAlone(RunVerb):
    """Closes the receiver's tap for `asked_us` microseconds. `run_id` is the installation's id. No evidence."""

    receiver: str
    status: int
    asked_us: int
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(TapRecord, self.receiver),)

    def decide(self, tx: Transaction) -> None:
        before = tx.get(TapRecord, self.receiver) or rules.new_tap(self.receiver)
        after = rules.closed(before, self.status, self.asked_us, tx.now)
        if after is not before:
            tx.put(after)


async def leave_alone(opened: Opened, receiver: str, told: Exchange | None) -> None:
    """Keep what an answer to a read asked for; nothing where it asked for nothing."""
    asked = rules.pause_asked_us(told)
    if asked and told is not None and told.status is not None:
        await opened.write(LeaveAlone(opened.installation_id, receiver, told.status, asked))


def left_alone_until(opened: Opened, receiver: str) -> int | None:
    """Until when nobody is to ask there by itself; None: now."""
    with opened.read() as reader:
        return rules.closed_until(reader.get(TapRecord, receiver), opened.clock.now_us())
