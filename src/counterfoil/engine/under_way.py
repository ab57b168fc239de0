"""Attempts that are under way in this process. Their worker's lock says that their sender lives, and is freed behind the last."""

import inspect
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import Any


class UnderWay:
    """Counted by worker, from any thread."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._behind: dict[str, Callable[[], None]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def attempt(self, worker_id: str) -> Generator[None]:
        """One is under way while the block is open."""
        with self._lock:
            self._count[worker_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._count[worker_id] -= 1
                act = None if self._count[worker_id] else self._behind.pop(worker_id, None)
            if act is not None:
                act()

    def behind_the_last(self, worker_id: str, act: Callable[[], None]) -> None:
        """Act once none is under way: now, or by whoever ends the last."""
        with self._lock:
            live = self._count[worker_id] > 0
            if live:
                self._behind[worker_id] = act
        if not live:
            act()


class Sent:
    """An operation's function within one attempt. A plain one goes on in its thread when whoever waits for it is cancelled."""

    def __init__(self, function: Callable[..., Any], under_way: UnderWay, worker_id: str) -> None:
        self.goes_on = False
        self.function = (
            function if inspect.iscoroutinefunction(function) else self._plain(function, under_way, worker_id)
        )

    def _plain(self, function: Callable[..., Any], under_way: UnderWay, worker_id: str) -> Callable[..., Any]:
        @wraps(function)
        def in_thread(*arguments: Any) -> Any:
            with under_way.attempt(worker_id):
                self.goes_on = True
                try:
                    return function(*arguments)
                finally:
                    self.goes_on = False

        return in_thread
