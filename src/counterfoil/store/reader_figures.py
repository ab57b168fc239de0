"""What metrics and traces read: what is open now, by index; what the journal says since; samples."""

from counterfoil.model.codec import compact
from counterfoil.model.duty import SampleRecord, SpanRecord
from counterfoil.model.journal import Entry
from counterfoil.store.questions import Questions
from counterfoil.store.tables import BY_RECORD, ENTRIES


class SqlFigures:
    """`Figures` of a snapshot."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def unresolved(self, now: int) -> list[tuple[str, str, int, int]]:
        """(receiver, operation, how many, since when the oldest)."""
        return list(self._questions.ask("unresolved_by_operation", {"now": now}))

    def open_reviews(self) -> list[tuple[str, int]]:
        """(role, opened at) of each."""
        return list(self._questions.ask("open_reviews_by_role"))

    def parked(self) -> dict[str, int]:
        """How many runs are parked, by reason."""
        return dict(self._questions.ask("parked_by_reason"))

    def open_versions(self) -> list[tuple[str, int, str, int]]:
        """(workflow, version, state, how many) of the runs that have not ended."""
        return list(self._questions.ask("open_by_version"))

    def open_incidents(self) -> int:
        """How many incidents wait for a person."""
        return self._questions.ask("open_incidents").get

    def newest_answers(self, *, since: int, limit: int = 2000) -> list[tuple[str, str | None, int]]:
        """What the newest attempts were answered, by receiver."""
        return list(self._questions.ask("newest_answers", {"since": since, "limit": limit}))

    def steps(self, after: int, upto: int) -> int:
        """How many steps ended in a stretch of the journal."""
        return self._questions.ask("steps_between", {"after": after, "upto": upto}).get

    def counted(self, after: int, upto: int) -> list[Entry]:
        """The entries of a stretch that a metric may count."""
        return list(map(ENTRIES.row, self._questions.ask("counted_between", {"after": after, "upto": upto})))

    def stretch(self, after: int, upto: int) -> list[Entry]:
        """A stretch of the journal, whole."""
        return list(map(ENTRIES.row, self._questions.ask("entries_between", {"after": after, "upto": upto})))

    def talked(self, talks: list[tuple[str, int]], after: int, upto: int) -> list[tuple[int, Entry]]:
        """What was told in these turns."""
        asked = {"talks": compact(talks), "after": after, "upto": upto}
        return [(row[0], ENTRIES.row(row[1:])) for row in self._questions.ask("talked_between", asked)]

    def open_spans(self, what: str) -> list[SpanRecord]:
        """What has begun and not ended."""
        return list(map(BY_RECORD[SpanRecord].row, self._questions.ask("open_spans", {"what": what})))

    def samples(self, metric: str, since: int) -> list[SampleRecord]:
        """One metric's samples, by labels, then in order."""
        asked = {"metric": metric, "since": since}
        return list(map(BY_RECORD[SampleRecord].row, self._questions.ask("samples_since", asked)))

    def to_thin(self, day: int, week: int, limit: int) -> list[tuple[str, str, int]]:
        """Keys of samples that are closer together than their age allows."""
        asked = {"day": day, "week": week, "limit": limit}
        return list(self._questions.ask("samples_to_thin", asked))

    def to_forget(self, before: int, limit: int) -> list[str]:
        """Spans that ended before."""
        return [row[0] for row in self._questions.ask("spans_to_forget", {"before": before, "limit": limit})]
