"""The floor: a plain loop of one INSERT per transaction, with the standard library's SQLite, WAL and FULL."""

import sqlite3
from pathlib import Path
from time import perf_counter

from benchmarks.workload import RESULT, STEPS


class PlainLoop:
    """A table of steps in a file of its own. What anyone would write to make a loop's results durable."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(folder / "plain.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(
            "CREATE TABLE steps (run_id TEXT, number INTEGER, result TEXT, PRIMARY KEY (run_id, number))"
        )
        self._runs = 0

    def steps(self, count: int) -> float:
        """Store so many steps, one by one. Gives the seconds."""
        execute = self._connection.execute
        began = perf_counter()
        for number in range(count):
            self._runs += number % STEPS == 0
            execute("BEGIN IMMEDIATE")
            execute("INSERT INTO steps VALUES (?, ?, ?)", (f"run-{self._runs}", number % STEPS, RESULT))
            execute("COMMIT")
        return perf_counter() - began

    def close(self) -> None:
        self._connection.close()
