"""Worker processes of one system: started, heard, killed, and ended."""

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0


class Workers:
    """`pids` in the order of their start. What they say of steps is kept until it is asked for."""

    def __init__(self) -> None:
        self._children: list[subprocess.Popen[str]] = []
        self._said: queue.Queue[tuple[int, str]] = queue.Queue()
        self._steps: dict[tuple[str, int], tuple[int, int]] = {}

    def start(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """One more, and it takes up work when this returns. Raises RuntimeError when it ended instead."""
        child = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=os.environ | environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        self._children.append(child)
        for line in child.stdout:  # an engine may print a greeting of its own
            if line == "ready\n":
                break
        else:
            raise RuntimeError(f"{' '.join(command)} ended with status {child.wait()}")
        number = len(self._children) - 1
        threading.Thread(target=self._hear, args=(number, child), daemon=True).start()

    def step(self, run: str, number: int) -> tuple[int, int]:
        """When a step began, in nanoseconds of the wall clock, and in which worker. Raises TimeoutError."""
        end = monotonic() + PATIENCE
        while (run, number) not in self._steps:
            try:
                worker, line = self._said.get(timeout=max(0.0, end - monotonic()))
            except queue.Empty:
                raise TimeoutError(f"step {number} of {run} did not begin within {PATIENCE:.0f} s") from None
            _, name, step, at = line.split()
            self._steps.setdefault((name, int(step)), (int(at), worker))
        return self._steps[run, number]

    def kill(self, number: int) -> None:
        """SIGKILL."""
        self._children[number].kill()
        self._children[number].wait()

    def close(self) -> None:
        """All of them end by themselves, or are killed after a while."""
        for child in self._children:
            assert child.stdin is not None
            child.stdin.close()
        for child in self._children:
            try:
                child.wait(timeout=30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def _hear(self, number: int, child: "subprocess.Popen[str]") -> None:
        assert child.stdout is not None
        with child.stdout as lines:
            for line in lines:
                if line.startswith("step "):
                    self._said.put((number, line))


@contextmanager
def workers(count: int, command: Sequence[str], environ: Mapping[str, str]) -> Iterator[Workers]:
    """So many of them, until the block is left."""
    started = Workers()
    try:
        for _ in range(count):
            started.start(command, environ)
        yield started
    finally:
        started.close()
