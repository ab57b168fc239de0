"""Counts what a durable step costs, by SQLite's own hooks and a file layer that counts. Not timed: counting slows."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from benchmarks.figures import PerStep
from benchmarks.workload import drive_runs, in_loop, opened, steps_app

_VFS = "counterfoil-counting"


@dataclass(slots=True)
class Counts:
    """Since counting began: statements that SQLite ran, commits that wrote, flushes of database files."""

    statements: int = 0
    commits: int = 0
    flushes: int = 0

    def copy(self) -> "Counts":
        return Counts(self.statements, self.commits, self.flushes)


class _File(apsw.VFSFile):
    def __init__(self, base: str, name: Any, flags: list[int], counts: Counts) -> None:
        self._counts = counts
        super().__init__(base, name, flags)

    def xSync(self, flags: int) -> None:
        self._counts.flushes += 1
        super().xSync(flags)


class _Layer(apsw.VFS):
    def __init__(self, base: str, counts: Counts) -> None:
        self._base, self._counts = base, counts
        super().__init__(_VFS, base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(self._base, name, flags, self._counts)


@contextmanager
def counting() -> Iterator[Counts]:
    """Everything that this process's apsw connections do while the block is open; they are opened in it."""
    counts = Counts()
    before = apsw.vfs_names()[0]

    def connected(connection: apsw.Connection) -> None:
        def ran(trace: dict[str, Any]) -> None:
            counts.statements += 1

        def committed() -> bool:
            counts.commits += 1
            return False

        connection.trace_v2(apsw.SQLITE_TRACE_STMT, ran)
        connection.set_commit_hook(committed)

    layer = _Layer(before, counts)
    apsw.connection_hooks.append(connected)
    try:
        yield counts
    finally:
        apsw.connection_hooks.remove(connected)
        apsw.set_default_vfs(before)
        layer.unregister()


def per_step(concurrency: int, *, steps: int = 200) -> PerStep:
    """What each further step of a run costs, at so many runs at once.

    Short runs and long ones are counted, and the difference divided: submitting, claiming and finishing are not steps.
    """
    with tempfile.TemporaryDirectory() as folder, counting() as counts:
        place = Path(folder)
        with opened(steps_app(), place, concurrency=concurrency) as app:
            short = _counted(app, counts, place, concurrency, 1)
            long = _counted(app, counts, place, concurrency, 1 + steps)
    extra = concurrency * steps
    return PerStep(*((after - before) / extra for before, after in zip(short, long, strict=True)))


def _counted(app: Any, counts: Counts, folder: Path, runs: int, steps: int) -> tuple[int, int, int, int]:
    before, size = counts.copy(), stored_bytes(folder)
    in_loop(drive_runs(app, "reference", runs, steps, prefix=f"count-{steps}"))
    return (
        counts.statements - before.statements,
        counts.commits - before.commits,
        counts.flushes - before.flushes,
        stored_bytes(folder) - size,
    )


def stored_bytes(folder: Path) -> int:
    """Bytes of the database once its log is moved into it: the pages in use, whole ones."""
    path = folder / "db" / "bench.db"
    connection = apsw.Connection(str(path))
    try:
        (pages,) = connection.execute("PRAGMA page_count").fetchone() or (0,)
        (free,) = connection.execute("PRAGMA freelist_count").fetchone() or (0,)
        return (pages - free) * 4096
    finally:
        connection.close()
