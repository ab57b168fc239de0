"""What duties read."""

from typing import Protocol

from counterfoil.model.duty import NoticeRecord


class Upkeep(Protocol):
    """What duties read."""

    def newest_ordinal(self) -> int:
        """The ordinal of the newest entry of all chains; 0 without one."""
        ...

    def heads_since(self, after: int, upto: int) -> list[tuple[str, int, bytes]]:
        """(run_id, sequence, digest) of the newest entry of each chain that has one in this stretch of ordinals."""
        ...

    def unsent_notices(self, now: int, limit: int) -> list[NoticeRecord]:
        """Notices whose next try is due, the longest due first."""
        ...

    def unnoticed(self, limit: int) -> set[str]:
        """Subjects (reviews, runs, incidents) that need a person, and that nobody was told of since that began."""
        ...

    def told_and_over(self, since: int, limit: int) -> list[NoticeRecord]:
        """The `entered` notices to webhooks, made after `since`, of what no longer needs a person; without those told."""
        ...

    def old_sessions(self, before: int, limit: int) -> list[str]:
        """Ids of sessions that ended, or ran out, before a time."""
        ...

    def old_notices(self, before: int, limit: int) -> list[str]:
        """Ids of notices that were made before a time and are sent, or given up."""
        ...

    def old_workers(self, before: int, limit: int) -> list[str]:
        """Ids of workers that stopped before a time."""
        ...
