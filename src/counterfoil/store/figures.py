"""What a database offers metrics and traces: what is open now, what the journal says since, samples."""

from typing import Protocol

from counterfoil.model.duty import SampleRecord, SpanRecord
from counterfoil.model.journal import Entry


class Figures(Protocol):
    """Part of a snapshot. A stretch of the journal is `after` exclusively, `upto` inclusively, in ordinals."""

    def unresolved(self, now: int) -> list[tuple[str, str, int, int]]:
        """(receiver, operation, how many, since when the oldest) of operations unknown or in flight past their deadline."""
        ...

    def open_reviews(self) -> list[tuple[str, int]]:
        """(role, opened at) of each open review, by role, the longest open first."""
        ...

    def parked(self) -> dict[str, int]:
        """How many runs are parked, by reason."""
        ...

    def open_versions(self) -> list[tuple[str, int, str, int]]:
        """(workflow, version, state, how many) of the runs that have not ended."""
        ...

    def open_incidents(self) -> int:
        """How many incidents wait for a person."""
        ...

    def newest_answers(self, *, since: int, limit: int = 2000) -> list[tuple[str, str | None, int]]:
        """(receiver, answer class, count) of the newest attempts that are over; None where no answer was classified."""
        ...

    def steps(self, after: int, upto: int) -> int:
        """How many steps ended in a stretch of the journal."""
        ...

    def counted(self, after: int, upto: int) -> list[Entry]:
        """The entries of a stretch that a metric may count, in order: the many plain ones are left out."""
        ...

    def stretch(self, after: int, upto: int) -> list[Entry]:
        """A stretch of the journal, whole and in order."""
        ...

    def talked(self, talks: list[tuple[str, int]], after: int, upto: int) -> list[tuple[int, Entry]]:
        """(ordinal, entry) of turns in a stretch of the journal, in order; `talks`: (conversation, its last turn that is meant)."""
        ...

    def open_spans(self, what: str) -> list[SpanRecord]:
        """What of this sort has begun and not ended."""
        ...

    def samples(self, metric: str, since: int) -> list[SampleRecord]:
        """One metric's samples, by labels, then in order."""
        ...

    def to_thin(self, day: int, week: int, limit: int) -> list[tuple[str, str, int]]:
        """Keys of samples that are closer together than their age allows."""
        ...

    def to_forget(self, before: int, limit: int) -> list[str]:
        """Ids of spans that ended before a time."""
        ...
