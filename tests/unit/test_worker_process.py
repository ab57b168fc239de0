"""How the end of a worker process is heard."""

import asyncio
import os
import sys

import pytest

from counterfoil.app.worker_process import NO_ANSWER, WorkerProcess

ANSWER = b'{"worker_id": "wrk_1", "ended_by": "idle", "problems": []}\n'


async def ended(code: str) -> tuple[int, bool]:
    """Its status, and whether it answered."""
    stdin, held = os.pipe()
    answers, stdout = os.pipe()
    os.set_blocking(answers, False)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdin=stdin, stdout=stdout)
    os.close(stdin)
    os.close(stdout)
    worker = WorkerProcess(process, held, answers)
    status = await asyncio.wait_for(worker.wait(), 30)
    return status, worker.answer is not None


@pytest.mark.parametrize(
    ("code", "heard"),
    [
        (f"import os; os.write(1, {ANSWER!r})", (0, True)),
        (f"import os; os.write(1, {ANSWER!r}); os._exit(70)", (70, True)),
        ("import os; os._exit(0)", (NO_ANSWER, False)),
        ("import os; os.write(1, b'{'); os._exit(0)", (NO_ANSWER, False)),
        ("import os; os.kill(os.getpid(), 9)", (-9, False)),
    ],
)
def test_only_who_answers_has_ended_in_order(code: str, heard: tuple[int, bool]) -> None:
    assert asyncio.run(ended(code)) == heard
