"""A worker of DBOS on its queue: `python -m benchmarks.scale.programs.on_dbos URL POLL_SECONDS`."""

import sys

from dbos import DBOS

from benchmarks.scale.programs.told import STEPS, ready, step, until_told

QUEUE, WORKFLOW, VERSION = "scale", "reference", "1"


@DBOS.step()
def work(name: str, number: int) -> str:
    """One durable step."""
    return step(name, number)


@DBOS.workflow(name=WORKFLOW)
def reference(name: str, steps: int = STEPS) -> int:
    """So many of them."""
    for number in range(steps):
        work(name, number)
    return steps


def main(url: str, poll_seconds: float) -> None:
    """Take from the queue until the standard input ends."""
    DBOS(
        config={
            "name": "scale",
            "system_database_url": url,
            "application_version": VERSION,
            "log_level": "ERROR",
        }
    )
    DBOS.launch()
    DBOS.register_queue(QUEUE, polling_interval_sec=poll_seconds)
    ready()
    until_told()
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
