"""`desk.evidence`."""

from typing import Any

from counterfoil.app.desk.sight import Sight


class DeskEvidence:
    """As `app.evidence`; what is not readable is not_found."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.evidence

    def entries(self, run: str, *, cursor: int | None = None, limit: int = 100) -> dict[str, Any]:
        """`{items, next_cursor}`, oldest first."""
        return self._noun.entries(run, cursor=cursor, limit=limit)

    def entry(self, run: str, sequence: int) -> dict[str, Any]:
        """One entry with its bytes, its digest and the digest before it."""
        return self._noun.entry(run, sequence)

    def timeline(self, run: str, *, begins_us: int | None = None, ends_us: int | None = None) -> dict[str, Any]:
        """A run's execution in time."""
        return self._noun.timeline(run, begins_us=begins_us, ends_us=ends_us)

    def documents(self, run: str) -> dict[str, Any]:
        """The versions of a run's working context."""
        return self._noun.documents(run)

    def operation(self, operation: str) -> dict[str, Any]:
        """`{life, attempts, in_force, asked}`."""
        return self._noun.operation(operation)

    def actions(self, operation: str) -> dict[str, Any]:
        """What this person may do about it, and why not the rest."""
        return self._noun.actions(operation, by=self._sight.actor)

    def moved(self, operation: str, since_version: int) -> dict[str, Any]:
        """What changed it after a version that somebody saw."""
        return self._noun.moved(operation, since_version)

    def acts(self, run: str) -> dict[str, Any]:
        """Why this person may not resume, raise, retry, cancel or signal; None where it may."""
        return self._noun.acts(run, by=self._sight.actor)

    def question(self, review: str) -> dict[str, Any]:
        """What a reviewer reads besides REVIEW."""
        return self._noun.question(review, by=self._sight.actor)
