"""The desk's noun `metrics`: numbers about the installation as a whole, by receiver, operation and role."""

from typing import Any

from counterfoil.app.desk.sight import Sight
from counterfoil.app.metrics.exposition import exposition
from counterfoil.model.errors import Refused


class DeskMetrics:
    """As `app.metrics`. Whoever sees only some workflows reads what is measured, and no number: all runs are in them."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.metrics

    def list(self) -> dict[str, Any]:
        """`{items: [METRIC], next_cursor}`."""
        page = self._noun.list()
        if self._sight.sees_installation():
            return page
        return page | {"items": [metric | {"values": []} for metric in page["items"]]}

    def history(self, name: str, since: int) -> dict[str, Any]:
        """One metric over time."""
        found = self._noun.history(name, since)
        return found if self._sight.sees_installation() else found | {"series": []}

    def exposed(self) -> tuple[bytes, str]:
        """For Prometheus: the text and its media type. Raises Refused(not_permitted) for who sees only some workflows."""
        if not self._sight.sees_installation():
            raise Refused("not_permitted", name=self._sight.actor.person, act="read the metrics of all workflows")
        return exposition(self._sight.app)
