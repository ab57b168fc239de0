"""What a model has answered so far: provisional, under the question that it answers, and void as soon as that has ended."""

from collections.abc import Iterable, Mapping
from typing import Any


class Writing:
    """Of one conversation. A question that is asked again, since its worker died, begins anew."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], tuple[int, str]] = {}

    def take(self, run_id: str, items: Iterable[Mapping[str, Any]], pieces: Iterable[tuple[str, str]]) -> None:
        """`items` of the turn, read after the `pieces` (place, text) came: so each piece belongs to the newest question there."""
        asked = {item["position"]: item["sequence"] for item in items if item["kind"] == "asking" and item["open"]}
        for key in [key for key in self._texts if key[0] == run_id and key[1] not in asked]:
            del self._texts[key]
        for place, text in pieces:
            if place not in asked:
                continue
            question, before = self._texts.get((run_id, place), (asked[place], ""))
            self._texts[run_id, place] = (asked[place], (before if question == asked[place] else "") + text)

    def of(self, run_id: str, item: Mapping[str, Any]) -> str:
        """What has come so far for a question, an item of the turn."""
        question, text = self._texts.get((run_id, item["position"]), (item["sequence"], ""))
        return text if question == item["sequence"] else ""
