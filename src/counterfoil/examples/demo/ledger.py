"""What the demo reads in the database: where a run stands, which case recovered it, and what the model was asked."""

import json
from collections import Counter
from dataclasses import dataclass

from counterfoil.app import App
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.origin import Origin
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.rules.recovery_cases import CASES, Case
from counterfoil.rules.recovery_rulings import Kind
from counterfoil.testing.loopback.digest import as_object, digest_of


def _case(kind: Kind) -> Case:
    """The case of the recovery table that rules so."""
    return next(case for case in CASES if case.ruling == kind.value.replace("_", " "))


def _asked_by(run: RunRecord) -> str | None:
    """The request id of a run on Temporal: its workflow id without the workflow's name."""
    origin = Origin.of(run.workflow, run.request_id)
    return None if origin is None else origin.workflow_id.partition(":")[2]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Reads only. The database is opened in this process; nothing of a story is written by it."""

    app: App

    def run(self, request_id: str) -> RunRecord | None:
        """The run of a request, if it was stored."""
        with self.app.open().read() as reader:
            runs = reader.lists.runs(limit=500).items
        return next((run for run in runs if request_id in (run.request_id, _asked_by(run))), None)

    def open_review(self, run_id: str) -> ReviewRecord | None:
        """What waits for an answer."""
        with self.app.open().read() as reader:
            reviews = reader.find(ReviewRecord, "run_id", run_id)
        return next((review for review in reviews if review.state is ReviewState.OPEN), None)

    def has_worker(self, pid: int) -> bool:
        """Whether a worker process has registered."""
        with self.app.open().read() as reader:
            return any(worker.pid == pid for worker in reader.lists.workers())

    def entries(self, run_id: str, *, after: int = -1) -> list[Entry]:
        """A run's journal."""
        with self.app.open().read() as reader:
            return reader.entries(run_id, after=after)

    def recovered(self, run_id: str, after: int) -> tuple[str, Case | None]:
        """How a doubt was moved after entry `after` (repeat, lookup or none), and by which case of the recovery table.

        A repeat counts before a lookup, which may have come first.
        """
        found: tuple[str, Case | None] = ("none", None)
        for entry in self.entries(run_id, after=after):
            if entry.kind is EntryKind.IN_FLIGHT and json.loads(entry.body)["data"]["ruling"] == Kind.REPEAT:
                return "repeat", _case(Kind.REPEAT)
            if entry.kind is EntryKind.LOOKED_UP:
                found = "lookup", _case(Kind.LOOK_UP)
        return found

    def decisions(self, run_id: str) -> Counter[str]:
        """What was accepted, each as often as it was: an output by its digest, an agent's response by its provider's id."""
        found: Counter[str] = Counter()
        for entry in self.entries(run_id):
            if entry.kind is EntryKind.DECISION:
                output = json.loads(entry.body)["data"]["output"]
                response = as_object(output).get("provider_response_id")
                found[str(response) if response else digest_of(output)] += 1
        return found
