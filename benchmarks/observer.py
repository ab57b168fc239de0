"""The outside observer: another process is told of each acknowledged step, kills the worker, and counts what is stored."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.workload import Length, drive, in_loop, opened, steps_app, submit
from counterfoil.model.journal import EntryKind

RUNS, STEPS = 16, 10_000  # more than is ever done: it is killed before


def observe(acknowledged: int) -> dict[str, int]:
    """Kill the worker with SIGKILL after so many acknowledged steps. `stored` must not be less than `acknowledged`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.observer", folder]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent)
        assert child.stdout is not None
        told: set[tuple[str, int]] = set()
        try:
            for line in child.stdout:
                run_id, number = json.loads(line)
                told.add((run_id, number))
                if len(told) == acknowledged:
                    child.send_signal(signal.SIGKILL)
                    break
            # What it had said before it died, and we had not read yet, is acknowledged too. A cut line is not.
            for line in child.stdout:
                if line.endswith(b"\n"):
                    run_id, number = json.loads(line)
                    told.add((run_id, number))
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
        if len(told) < acknowledged:
            raise RuntimeError(f"the worker ended by itself after {len(told)} acknowledged steps: nothing was observed")
        stored = _stored(Path(folder))
        assert told <= stored, f"acknowledged and not stored: {sorted(told - stored)[:5]}"
        return {"acknowledged": len(told), "stored": len(stored)}


def _stored(folder: Path) -> set[tuple[str, int]]:
    with opened(steps_app(), folder) as app, app.open().read() as reader:
        return {
            (entry.run_id, int(entry.position) - 1)
            for _, entry in reader.journal()
            if entry.kind is EntryKind.STEP and entry.position is not None
        }


def _child(folder: Path) -> None:
    def told(run_id: str, number: int) -> None:
        # Past every buffer: what is in the pipe outlives us.
        os.write(1, f"{json.dumps([run_id, number])}\n".encode())

    async def work(app: object) -> None:
        await submit(app, "reference", RUNS, Length(steps=STEPS), prefix="observed")  # type: ignore[arg-type]
        await drive(app)  # type: ignore[arg-type]

    with opened(steps_app(told), folder) as app:
        in_loop(work(app))


if __name__ == "__main__":
    _child(Path(sys.argv[1]))
