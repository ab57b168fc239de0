"""One bar of a run's timeline."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from counterfoil.app.views.moments import rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """`begins` and `ends` in microseconds. `kind`: how it went (pending, waiting, parked, running, crashed, done, failed,
    lost, live, unknown). `about`: the begin is no recorded instant. `sequence`: the entry that recorded it.
    """

    lane: str
    kind: str
    label: str
    begins: int
    ends: int
    detail: str = ""
    about: bool = False
    open: bool = False
    count: int = 1
    sequence: int | None = None
    operation: int | None = None
    cost_micros: int | None = None

    def view(self, begins: int, ends: int) -> dict[str, Any]:
        """As JSON, cut to a window."""
        return {
            "lane": self.lane, "kind": self.kind, "label": self.label, "detail": self.detail,
            "begins_us": max(self.begins, begins), "ends_us": min(self.ends, ends), "took_us": self.ends - self.begins,
            "begins_at": rfc3339(self.begins), "ends_at": rfc3339(self.ends), "open": self.open, "about": self.about,
            "count": self.count, "sequence": self.sequence, "operation": self.operation,
            "cost_usd": None if self.cost_micros is None else f"{Decimal(self.cost_micros) / 1_000_000:f}",
        }  # fmt: skip
