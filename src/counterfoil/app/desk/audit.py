"""`desk.audit`."""

from collections.abc import Iterator
from typing import Any

from counterfoil.app.audit import ANY, AuditFilter, Format
from counterfoil.app.desk.sight import Sight
from counterfoil.model.access import Act


class DeskAudit:
    """As `app.audit`, for whoever may export it: it tells of all workflows."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.audit

    def list(self, wanted: AuditFilter = ANY, *, cursor: str | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [ACT], next_cursor}`, the newest first. Raises Refused(not_permitted)."""
        self._sight.must(Act.EXPORT_AUDIT)
        return self._noun.list(wanted, cursor=cursor, limit=limit)

    def export(self, wanted: AuditFilter = ANY, *, as_: Format = "jsonl") -> Iterator[str]:
        """All of it, line by line. Raises Refused(not_permitted)."""
        self._sight.must(Act.EXPORT_AUDIT)
        return self._noun.export(wanted, as_=as_)
