"""The noun `receivers`: where operations are sent, under which contracts, and how it goes there."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from counterfoil.app.views.receiver import DAY_US, receiver_view
from counterfoil.app.views.shown import Shown
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord


class Receivers:
    """`app.receivers`. A receiver is named as the code declares it."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self) -> dict[str, Any]:
        """`{items: [RECEIVER], next_cursor: None}`, by name: what this code declares and what is in doubt elsewhere.

        RECEIVER: {receiver, environment, declared, suspended, in_doubt, oldest_doubt_at, last_day: {attempts, refused,
        ambiguous, failure_rate}, limits: {concurrency, in_use, rate, closed_until_at, closed_by}, operations: [{operation,
        action, api_version, contract_digest, kind, lookup, window_us, duplicate, procedure, sentences}]}.
        `window_us`: how long a key keeps a repeat harmless.
        `failure_rate` is refused and ambiguous attempts by all attempts that ended, None without any.
        """
        opened = self._opened()
        with opened.read() as reader:
            shown = Shown.of(opened, reader)
            doubts: defaultdict[str, list[OperationRecord]] = defaultdict(list)
            for operation in reader.unresolved():
                doubts[operation.receiver].append(operation)
            answers: defaultdict[str, dict[str | None, int]] = defaultdict(dict)
            for receiver, meaning, count in reader.figures.newest_answers(since=shown.now - DAY_US):
                answers[receiver][meaning] = count
        names = sorted(opened.registry.receivers.keys() | doubts.keys() | answers.keys())
        items = [receiver_view(shown, opened.registry, name, doubts[name], answers[name]) for name in names]
        return {"items": items, "next_cursor": None}

    def show(self, receiver: str) -> dict[str, Any]:
        """One RECEIVER. Raises Refused(not_found)."""
        for item in self.list()["items"]:
            if item["receiver"] == receiver:
                return item
        raise Refused("not_found", what="receiver", id=receiver)
