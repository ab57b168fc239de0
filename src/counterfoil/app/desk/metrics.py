"""The desk's noun `metrics`: numbers about the installation, which name nobody and nothing of a run."""

from typing import Any

from counterfoil.app.desk.sight import Sight


class DeskMetrics:
    """As `app.metrics`: everybody who is signed in may see them."""

    def __init__(self, sight: Sight) -> None:
        self._noun = sight.app.metrics

    def list(self) -> dict[str, Any]:
        """`{items: [METRIC], next_cursor}`."""
        return self._noun.list()

    def history(self, name: str, since: int) -> dict[str, Any]:
        """One metric over time."""
        return self._noun.history(name, since)
