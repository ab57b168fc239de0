"""What metrics and traces read: what is open now, by index; what the journal says since; samples."""

from counterfoil.model.duty import SampleRecord, SpanRecord
from counterfoil.model.journal import Entry
from counterfoil.store.driver import Connection
from counterfoil.store.queries import sql
from counterfoil.store.tables import BY_RECORD, ENTRIES


class SqliteFigures:
    """`Figures` of a SQLite snapshot."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def unresolved(self, now: int) -> list[tuple[str, str, int, int]]:
        """(receiver, operation, how many, since when the oldest)."""
        return list(self._connection.execute(sql("unresolved_by_operation"), {"now": now}))

    def open_reviews(self) -> list[tuple[str, int]]:
        """(role, opened at) of each."""
        return list(self._connection.execute(sql("open_reviews_by_role")))

    def parked(self) -> dict[str, int]:
        """How many runs are parked, by reason."""
        return dict(self._connection.execute(sql("parked_by_reason")))

    def open_incidents(self) -> int:
        """How many incidents wait for a person."""
        return self._connection.execute(sql("open_incidents")).get

    def steps(self, after: int, upto: int) -> int:
        """How many steps ended in a stretch of the journal."""
        return self._connection.execute(sql("steps_between"), {"after": after, "upto": upto}).get

    def counted(self, after: int, upto: int) -> list[Entry]:
        """The entries of a stretch that a metric may count."""
        return list(map(ENTRIES.row, self._connection.execute(sql("counted_between"), {"after": after, "upto": upto})))

    def stretch(self, after: int, upto: int) -> list[Entry]:
        """A stretch of the journal, whole."""
        return list(map(ENTRIES.row, self._connection.execute(sql("entries_between"), {"after": after, "upto": upto})))

    def open_spans(self, what: str) -> list[SpanRecord]:
        """What has begun and not ended."""
        return list(map(BY_RECORD[SpanRecord].row, self._connection.execute(sql("open_spans"), {"what": what})))

    def samples(self, metric: str, since: int) -> list[SampleRecord]:
        """One metric's samples, by labels, then in order."""
        asked = {"metric": metric, "since": since}
        return list(map(BY_RECORD[SampleRecord].row, self._connection.execute(sql("samples_since"), asked)))

    def to_thin(self, day: int, week: int, limit: int) -> list[tuple[str, str, int]]:
        """Keys of samples that are closer together than their age allows."""
        asked = {"day": day, "week": week, "limit": limit}
        return list(self._connection.execute(sql("samples_to_thin"), asked))

    def to_forget(self, before: int, limit: int) -> list[str]:
        """Spans that ended before."""
        return [row[0] for row in self._connection.execute(sql("spans_to_forget"), {"before": before, "limit": limit})]
