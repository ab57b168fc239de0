"""One run of the support desk's writes, with people who approve what is asked."""

from typing import Any

from counterfoil.model.run import RunRecord
from counterfoil.testing import Bench
from counterfoil.testing.bench import BenchRun, BenchSandbox


class Played:
    """Driven to where a person is needed for more than an approval."""

    def __init__(self, bench: Bench, payments: BenchSandbox, run: BenchRun) -> None:
        self.bench, self.payments, self.run = bench, payments, run

    async def driven(self, life: int = 0, crash_at: str | None = None) -> RunRecord:
        """`life`: the worker, counted from 0, that dies at `crash_at`."""
        for n in range(9):
            self.run.crash_at = crash_at if n == life and not self.run.crashes else None
            stored = await self.bench.drive(self.run)
            if not self.bench.app.reviews.list(state="open")["items"]:
                return stored
            await self.bench.approve(self.run, by="ana")
        raise AssertionError("it asks for ever")

    def operation(self, name: str) -> dict[str, Any]:
        (found,) = [each for each in self.bench.app.operations.list()["items"] if each["operation"] == name]
        return found
