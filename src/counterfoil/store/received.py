"""What receivers sent by themselves, and what is counted at them: asked by index."""

from collections.abc import Collection
from typing import Protocol

from counterfoil.model.delivery import DeliveryRecord, SweepRecord
from counterfoil.model.operation import OperationRecord


class ReceivedReader(Protocol):
    """`reader.received`. Times are microseconds."""

    def due(self, now: int, limit: int) -> list[str]:
        """Ids of messages that are to be matched, the longest due first."""
        ...

    def page(
        self, *, orphans: bool = False, receiver: str | None = None, before: int | None = None, limit: int = 50
    ) -> tuple[list[DeliveryRecord], int | None]:
        """Messages, newest first, and where the next page begins. `orphans`: only those that nobody has weighed."""
        ...

    def orphans(self) -> dict[str, int]:
        """How many orphans nobody has weighed, by receiver."""
        ...

    def named(self, text: str, *, limit: int = 2) -> list[DeliveryRecord]:
        """Messages with this id, an id that begins so, or this number (`dlv-7` or `7`)."""
        ...

    def to_enrol(self, since: int, limit: int) -> list[OperationRecord]:
        """Operations that were sent and closed since then, and that no sweep knows yet."""
        ...

    def due_sweeps(self, now: int, receiver: str, names: Collection[str], limit: int) -> list[SweepRecord]:
        """What is to be counted at a receiver now, of these operations, the longest due first."""
        ...

    def sweeps_again(self, before: int, receiver: str, names: Collection[str], limit: int) -> list[SweepRecord]:
        """What no question since then has counted, due or not, the longest ago first. Reads all of the receiver's."""
        ...

    def notices(self, limit: int) -> list[SweepRecord]:
        """What was counted and is too little for an incident, the newest first."""
        ...
