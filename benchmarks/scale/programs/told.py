"""What a worker process says: `ready`, and where it is asked to, when each step began. It ends when its standard input does."""

import os
import sys
import time

STEPS = 10
RESULT = "r" * 200
TELLS = bool(os.environ.get("TELLS"))


def step(run: str, number: int) -> str:
    """A step that costs nothing but its record. Its line: `step RUN NUMBER NANOSECONDS` by this host's clock."""
    if TELLS:
        # One call of the system for one line: an engine's threads must not mix theirs.
        os.write(1, f"step {run} {number} {time.time_ns()}\n".encode())
    return RESULT


def ready() -> None:
    """The worker takes up work from here on."""
    print("ready", flush=True)


def until_told() -> None:
    """Returns when the one who started this process closes its standard input, or is gone."""
    sys.stdin.read()
