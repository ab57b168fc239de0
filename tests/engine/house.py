"""An application in a test: a SQLite file, a fake clock, the sandbox as its receiver, workers in this process."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from counterfoil.app import App
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.app.signing import new_key
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.definitions import Env
from counterfoil.engine.worker import Worker
from counterfoil.engine.writer import Touched
from counterfoil.model.budget import Budget
from counterfoil.model.money import Money, Target
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.testing.fake_clock import FakeClock

SECRET = "correct horse"
ROLES = ("manager", "lead", "ops")
BUDGET = Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=3, owner="lead")


class Order(BaseModel):
    """The input of the test workflows, and what they write."""

    number: Annotated[str, Target()]
    amount: Annotated[int, Money("EUR")] = 1


class House:
    """`app` with its people. `until` waits for commits; time moves only by `clock.advance`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, url: str = "http://127.0.0.1:9") -> None:
        (folder / "db").mkdir(exist_ok=True)
        monkeypatch.setenv("COUNTERFOIL_STATE", str(folder / "state"))
        monkeypatch.setenv("CRM_URL", url)
        self.folder = folder
        self.clock = FakeClock()
        self.app = self.new_app()

    def new_app(self) -> App:
        """Another application over the same database, as a new process would have it."""
        app = App("house", db=str(self.folder / "db" / "house.db"))
        app.clock = self.clock
        app.receiver("crm", url=Env("CRM_URL"), environment="test")
        return app

    def found(
        self,
        *,
        signed: bool = False,
        single_person: bool = False,
        names: tuple[str, ...] = ("ana", "oscar"),
        stand_ins: dict[str, str] | None = None,
    ) -> None:
        """Make the database and its people. `signed`: with an approval key, whose private half lies beside the database."""
        people = tuple(
            NewPerson(name, ROLES, hashed(SECRET, "00"), (stand_ins or {}).get(name)) for name in (*names, "root")
        )
        people = tuple(replace(person, roles=("admin",)) if person.name == "root" else person for person in people)
        key = None
        if signed:
            self.key_file.parent.mkdir()
            key = new_key(self.key_file).public_key
        self.app.open(Founding(single_person=single_person, people=people, approval_key=key))

    @property
    def key_file(self) -> Path:
        return self.folder / "db" / ".counterfoil" / "approval.key"

    def ask(self, verb: Any) -> Any:
        """Write through the writer of the application, as any process may."""
        return self.app.open().writer.ask(verb)

    @asynccontextmanager
    async def working(self, app: App | None = None) -> AsyncIterator[Worker]:
        """A worker of this process while the block is open."""
        worker = (app or self.app).new_worker()
        part = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await asyncio.wait_for(part, 20)
            assert not worker.problems, worker.problems

    def run(self, run_id: str) -> RunRecord:
        with self.app.open().read() as reader:
            found = reader.get(RunRecord, run_id)
        assert found is not None
        return found

    def operations(self, run_id: str) -> list[OperationRecord]:
        with self.app.open().read() as reader:
            return reader.find(OperationRecord, "run_id", run_id)

    def entries(self, run_id: str) -> list[tuple[str, str | None, Any]]:
        """(kind, position, data) of every entry."""
        with self.app.open().read() as reader:
            return [(e.kind.value, e.position, json.loads(e.body)["data"]) for e in reader.entries(run_id)]

    def count(self, run_id: str, kind: str) -> int:
        return sum(1 for known, _, _ in self.entries(run_id) if known == kind)

    async def until(self, run_id: str, holds: Callable[[RunRecord], bool]) -> RunRecord:
        """Wait for a commit after which this holds of the run. Time stands still meanwhile."""
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def committed(run_ids: Touched) -> None:
            if run_id in run_ids:
                loop.call_soon_threadsafe(changed.set)

        opened = self.app.open()
        opened.listeners.add(committed)
        try:
            async with asyncio.timeout(20):
                while True:
                    changed.clear()
                    run = self.run(run_id)
                    if holds(run):
                        return run
                    await changed.wait()
        finally:
            opened.listeners.discard(committed)

    async def state(self, run_id: str, *states: str) -> RunRecord:
        return await self.until(run_id, lambda run: run.state.value in states)

    def clean(self) -> None:
        """Every chain holds, and every table equals what the journal rebuilds."""
        from counterfoil.app.verification import verify

        report = verify(self.app.open)
        assert report["broken"] == [] and report["differences"] == [], report
        assert report["rows_compared"] > 0
