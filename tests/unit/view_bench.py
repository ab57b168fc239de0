"""A filled ledger with the nouns that show it."""

from typing import Any

from counterfoil.app.incidents import Incidents
from counterfoil.app.operations import Operations
from counterfoil.app.reviews import Reviews
from counterfoil.app.runs import Runs
from counterfoil.engine.finish import Suspend
from counterfoil.engine.reviews import Answer
from tests.unit.opened_ledger import HOUR, START, Filled


class Bench:
    """A filled ledger and the nouns over it."""

    def __init__(self, filled: Filled) -> None:
        self.filled = filled
        self.runs = Runs(lambda: filled.opened)
        self.operations = Operations(lambda: filled.opened)
        self.reviews = Reviews(lambda: filled.opened)
        self.incidents = Incidents(lambda: filled.opened)

    def approve(self, *, by: str = "ana") -> None:
        self.filled.submitted().claimed().prepared()
        review = self.filled.asked()
        self.filled.ask(
            Answer(
                self.filled.run_id, review.review_id, self.filled.operation_id, by, True, review.digest, "fine", False
            )
        )

    def wait(self, kind: str, id_: str) -> None:
        filled = self.filled
        waits = [{"kind": kind, "id": id_, "since_at": START, "deadline_at": START + HOUR}]
        assert filled.ask(
            Suspend(
                filled.run_id, filled.fence, filled.run().sequence, waits, kind, f"Waits for {kind}.", START + HOUR, START + HOUR,
                "ops", "head",
            )
        )  # fmt: skip

    def run(self) -> dict[str, Any]:
        return self.runs.show(self.filled.run_id)

    def operation(self) -> dict[str, Any]:
        return self.operations.show(self.filled.operation_id)
