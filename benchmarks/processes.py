"""Worker processes over one database, as `counterfoil worker` is one: started and warmed up before the time, told to go together."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from benchmarks.workload import drive, drive_runs, in_loop, opened, steps_app
from counterfoil.app.driving import freeze_memory

WARM_UP = 32  # runs of each process before the time


class Processes:
    """Worker processes that are ready. `go` gives the seconds until nothing is left to drive."""

    def __init__(self, children: "list[subprocess.Popen[str]]") -> None:
        self._children = children

    def go(self) -> float:
        """Once only. Raises RuntimeError when one of them failed."""
        began = perf_counter()
        for child in self._children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in self._children:
            _hear(child, "done")
        return perf_counter() - began


@contextmanager
def processes(folder: Path, count: int, concurrency: int) -> Iterator[Processes]:
    """`count` worker processes over the database in `folder`, each for `concurrency` runs at once."""
    command = [sys.executable, "-m", "benchmarks.processes", str(folder), str(concurrency)]
    children: list[subprocess.Popen[str]] = []
    try:
        for _ in range(count):
            # One after the other: the next one must not drive the runs of this one's warming up.
            child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent
            )
            children.append(child)
            _hear(child, "ready")
        yield Processes(children)
    finally:
        for child in children:
            child.communicate()  # closes its standard input: it ends


def _hear(child: "subprocess.Popen[str]", word: str) -> None:
    assert child.stdout is not None
    line = child.stdout.readline()
    if line != f"{word}\n":
        raise RuntimeError(f"a worker process said {line!r} instead of {word}")


def _child(folder: Path, concurrency: int) -> None:
    with opened(steps_app(), folder, concurrency=concurrency) as app:
        name = f"warm-{app.open().session}"
        in_loop(drive_runs(app, "reference", WARM_UP, 5, prefix=name))
        freeze_memory()
        print("ready", flush=True)
        if sys.stdin.readline() == "go\n":
            in_loop(drive(app))
            print("done", flush=True)


if __name__ == "__main__":
    _child(Path(sys.argv[1]), int(sys.argv[2]))
