"""A stage: one database, one part of each receiver, and the children that live and die on it."""

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from counterfoil import App
from counterfoil.app.verification import verify
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.case_ledger import CaseLedger, MakeLedger
from counterfoil.testing.children import Child, Children
from counterfoil.testing.clock import SharedClock
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash import lives, story


@dataclass
class Stage:
    """`case` names this test's part of each receiver."""

    folder: Path
    case: str
    children: Children
    receivers: dict[str, SandboxProcess]
    ledgers: MakeLedger
    environ: dict[str, str] = field(default_factory=dict[str, str])
    started: list[Child] = field(default_factory=list[Child])
    ledger: CaseLedger = field(init=False)

    def __post_init__(self) -> None:
        for name in ("ledger", "state"):
            (self.folder / name).mkdir()
        self.ledger = self.ledgers(self.folder / "ledger")
        self.environ = lives.settings(self.folder, self.receivers, self.case)
        self.clock = SharedClock(self.folder / "clock")

    # ------------------------------------------------------------------ children

    def start(self, function: str = "live", **arguments: Any) -> Child:
        environ = self.environ | self.ledger.environ | arguments.pop("environ", {})
        given = {"db": self.ledger.db, "clock": str(self.folder / "clock"), "passed": str(self.passed_file)} | arguments
        log = self.folder / f"child-{len(self.started)}.log"
        named = function if ":" in function else f"tests.crash.lives:{function}"
        child = self.children.start(named, given, log=log, environ=environ)
        self.started.append(child)
        return child

    def lives(self, function: str = "live", **arguments: Any) -> Child:
        """A child that must come to its own end."""
        child = self.start(function, **arguments)
        child.wait()
        assert child.exit_code == 0, child.wrote()[-6000:]
        return child

    def dies(self, at: str, function: str = "live", **arguments: Any) -> Child:
        """A child that is killed at a boundary: by SIGKILL, which its wait status proves."""
        child = self.start(function, crash_at=at, **arguments)
        status = child.wait()
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == 9, (status, child.wrote()[-6000:])
        return child

    @property
    def passed_file(self) -> Path:
        return self.folder / "passed"

    def passed(self, when: str = "after", pid: int | None = None) -> list[list[str]]:
        """The boundaries met, a list for each hit, in order."""
        lines = [line.split() for line in self.passed_file.read_text().splitlines()]
        return [names for by, at, *names in lines if at == when and pid in (None, int(by))]

    # ------------------------------------------------------------------ what is there

    def rows(self, table: type[Any]) -> list[Any]:
        with self.ledger.reader() as reader:
            return list(reader.rows(table))

    def batches(self) -> int:
        """How many commits the database holds."""
        if not self.ledger.there():
            return 0
        with self.ledger.reader() as reader:
            found = reader.installation
        return 0 if found is None else found.batches

    def entries(self, run_id: str) -> list[Entry]:
        with self.ledger.reader() as reader:
            return reader.entries(run_id)

    def run(self, workflow: str = "everything") -> RunRecord:
        return next(run for run in self.rows(RunRecord) if run.workflow == workflow)

    def operations(self) -> dict[str, OperationRecord]:
        """By name, the first of each."""
        return {operation.name: operation for operation in reversed(self.rows(OperationRecord))}

    def records(self, receiver: str) -> list[dict[str, Any]]:
        """What the receiver itself has written down of this test: its own file, not what it says."""
        lines = self.receivers[receiver].records_file.read_text().splitlines()
        found = [record for record in map(json.loads, lines) if record["path"].startswith(f"/{self.case}/")]
        return [r for r in found if isinstance(r, dict)]

    def quiet(self) -> None:
        """No receiver loses a reply."""
        for process in self.receivers.values():
            process.post("fault", {"fault": None})

    def writes(self, receiver: str) -> list[dict[str, Any]]:
        """The write requests that reached the receiver."""
        mine = [r for r in self.receivers[receiver].requests() if str(r["path"]).startswith(f"/{self.case}/")]
        return [dict(r) for r in mine]

    # ------------------------------------------------------------------ what must hold

    def check_record(self) -> None:
        """The journal is whole, the tables say what it says, and nothing succeeded that the receiver does not have."""
        report = verified(self)
        assert report["sound"] and report["rows_compared"] > 0, report
        receipts = {receipt.receipt_id: receipt for receipt in self.rows(ReceiptRecord)}
        for operation in self.rows(OperationRecord):
            there = self.records(operation.receiver)
            ours = [record for record in there if record["reference"] == operation.operation_id]
            assert len(ours) <= 1, (operation.name, there)
            if operation.status is OperationStatus.SUCCEEDED and operation.reused_from is None:
                assert [record["id"] for record in ours] == [receipts[operation.receipt_id or ""].reference]
            if operation.status is OperationStatus.FAILED:
                assert not ours, "called failed, and the receiver has it"

    def check_whole_story(self) -> None:
        """The end is that of a life without a crash."""
        self.check_record()
        run = self.run()
        assert run.state is RunState.COMPLETED, (run.state, run.reason, run.sentence, run.failure)
        entries = self.entries(run.run_id)
        decided = [json.loads(entry.body)["data"]["output"] for entry in entries if entry.kind is EntryKind.DECISION]
        assert len(decided) == 1, "a saved decision is reused"
        by_receiver = {name: [record["id"] for record in self.records(name)] for name in self.receivers}
        assert all(len(ids) == 1 for ids in by_receiver.values()), by_receiver
        assert json.loads(run.result or "") == story.Outcome(
            read="order n-1", advice=story.Advice(**decided[0]), booked=by_receiver["key"][0], again=by_receiver["key"][0],
            posted=by_receiver["lookup"][0], mailed=by_receiver["none"][0], word="go", part="part of n-1", repaired="repaired",
        ).model_dump()  # fmt: skip
        kinds = Counter(entry.kind for entry in entries)
        assert kinds[EntryKind.MESSAGE] == kinds[EntryKind.DOCUMENT] == kinds[EntryKind.PROPOSAL] == 1
        assert {run.workflow: run.state for run in self.rows(RunRecord)} == {
            "everything": RunState.COMPLETED, "part": RunState.COMPLETED, "waiter": RunState.CANCELLED,
        }  # fmt: skip


def verified(stage: Stage) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (stage.environ | stage.ledger.environ).items():
            patch.setenv(name, value)
        reading = App("crash", db=stage.ledger.db)
        reading.clock = stage.clock
        reading.open()
        try:
            return verify(reading.open)
        finally:
            reading.close()
