"""What duties read: chains that grew, notices to send, rows that are of no use any more."""

from counterfoil.model.duty import NoticeRecord
from counterfoil.store.questions import Questions
from counterfoil.store.tables import BY_RECORD


class SqlUpkeep:
    """`Upkeep` of a snapshot."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def newest_ordinal(self) -> int:
        """How long the journal is."""
        return self._questions.ask("newest_ordinal").get

    def heads_since(self, after: int, upto: int) -> list[tuple[str, int, bytes]]:
        """The newest entry of each chain that grew."""
        found = self._questions.ask("heads_since", {"after": after, "upto": upto})
        return [(run_id, sequence, digest) for run_id, sequence, digest in found]

    def unsent_notices(self, now: int, limit: int) -> list[NoticeRecord]:
        """Notices that are due."""
        found = self._questions.ask("unsent_notices", {"now": now, "limit": limit})
        return list(map(BY_RECORD[NoticeRecord].row, found))

    def unnoticed(self, limit: int) -> set[str]:
        """Subjects that nobody was told of."""
        return {row[0] for row in self._questions.ask("unnoticed", {"limit": limit})}

    def told_and_over(self, since: int, limit: int) -> list[NoticeRecord]:
        """Webhooks to tell that something is over."""
        found = self._questions.ask("told_and_over", {"since": since, "limit": limit})
        return list(map(BY_RECORD[NoticeRecord].row, found))

    def old_sessions(self, before: int, limit: int) -> list[str]:
        """Sessions that are over."""
        return self._ids("old_sessions", before, limit)

    def old_notices(self, before: int, limit: int) -> list[str]:
        """Notices that are sent or given up."""
        return self._ids("old_notices", before, limit)

    def old_workers(self, before: int, limit: int) -> list[str]:
        """Workers that stopped."""
        return self._ids("old_workers", before, limit)

    def _ids(self, name: str, before: int, limit: int) -> list[str]:
        return [row[0] for row in self._questions.ask(name, {"before": before, "limit": limit})]
