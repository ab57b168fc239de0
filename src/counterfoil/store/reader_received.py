"""`received` of a snapshot."""

from collections.abc import Collection

from counterfoil.model.codec import compact
from counterfoil.model.delivery import DeliveryRecord, SweepRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.store.questions import Questions
from counterfoil.store.tables import BY_RECORD


class SqlReceived:
    """See `store.received.ReceivedReader`."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def due(self, now: int, limit: int) -> list[str]:
        """Messages to be matched."""
        return [row[0] for row in self._questions.ask("due_deliveries", {"now": now, "limit": limit})]

    def page(
        self, *, orphans: bool = False, receiver: str | None = None, before: int | None = None, limit: int = 50
    ) -> tuple[list[DeliveryRecord], int | None]:
        """Messages, newest first."""
        asked = {"receiver": receiver, "before": before, "limit": limit + 1}
        name = "list_orphans" if orphans else "list_deliveries"
        rows = list(map(BY_RECORD[DeliveryRecord].row, self._questions.ask(name, asked)))
        return rows[:limit], rows[limit - 1].number if len(rows) > limit else None

    def orphans(self) -> dict[str, int]:
        """Orphans by receiver."""
        return dict(self._questions.ask("orphans_by_receiver"))

    def named(self, text: str, *, limit: int = 2) -> list[DeliveryRecord]:
        """What a person may mean."""
        number = text.removeprefix("dlv-")
        whole = int(number) if number.isdecimal() and len(number) <= 18 else -1
        start = text if text.startswith("dlv_") else "dlv_~"  # an id begins so; anything else is no start of one
        asked = {"text": start, "text_end": start + "~", "number": whole, "limit": limit}
        found = list(map(BY_RECORD[DeliveryRecord].row, self._questions.ask("delivery_named", asked)))
        return [each for each in found if each.delivery_id == text] or found

    def to_enrol(self, since: int, limit: int) -> list[OperationRecord]:
        """Closed operations that no sweep knows."""
        asked = {"since": since, "limit": limit}
        return list(map(BY_RECORD[OperationRecord].row, self._questions.ask("to_enrol", asked)))

    def due_sweeps(self, now: int, receiver: str, names: Collection[str], limit: int) -> list[SweepRecord]:
        """What is to be counted now."""
        asked = {"now": now, "receiver": receiver, "names": compact(sorted(names)), "limit": limit}
        return list(map(BY_RECORD[SweepRecord].row, self._questions.ask("due_sweeps", asked)))

    def sweeps_again(self, before: int, receiver: str, names: Collection[str], limit: int) -> list[SweepRecord]:
        """What is to be counted once more."""
        asked = {"before": before, "receiver": receiver, "names": compact(sorted(names)), "limit": limit}
        return list(map(BY_RECORD[SweepRecord].row, self._questions.ask("sweeps_again", asked)))

    def notices(self, limit: int) -> list[SweepRecord]:
        """What was counted and is no incident."""
        return list(map(BY_RECORD[SweepRecord].row, self._questions.ask("sweep_notices", {"limit": limit})))
