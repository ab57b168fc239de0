"""Waiting for a lock: how often it is tried, and when it is given up."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from counterfoil.store import sqlite_waiting
from counterfoil.store.sqlite_waiting import LONG_S, SHORT_S, wait_for_locks


class Connection:
    """Takes the handler that SQLite would call."""

    def set_busy_handler(self, handler: Callable[[int], bool]) -> None:
        self.handler = handler


class Pauses:
    """An event that nobody sets: it writes down how long it would have waited."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def wait(self, seconds: float) -> None:
        self.taken.append(seconds)


def test_short_pauses_first_and_the_whole_time_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = Pauses()
    monkeypatch.setattr(sqlite_waiting, "Event", lambda: pauses)
    connection = Connection()
    wait_for_locks(cast("Any", connection), 10.0)
    for _ in range(2):  # each statement has the whole time
        pauses.taken.clear()
        calls = 0
        while connection.handler(calls):
            calls += 1
        assert pauses.taken[:40] == [SHORT_S] * 40
        assert max(pauses.taken) == LONG_S
        assert 10.0 <= sum(pauses.taken) < 10.0 + LONG_S
