"""Journals of past releases replay for ever: nothing is called again, and the record says the same.

A folder of `journals` is a release. Its files stay as they are; a new release adds a folder (see `recorded.py`).
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import App
from counterfoil.engine import call_step, reconcile, sender
from counterfoil.examples.onboarding import app as onboarding
from counterfoil.examples.refund import app as refunds
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.tables import BY_RECORD, plain
from counterfoil.testing.fake_clock import FakeClock
from tests.replay.recorded import Recorded, build

JOURNALS = Path(__file__).parent / "journals"
APPS = {"onboarding": onboarding.app, "refund": refunds.app}
FILES = sorted(JOURNALS.glob("*/*.json"))
RUNS = [(file, run_id) for file in FILES for run_id in Recorded.of(file).run_ids]


def told(row: dict[str, Any]) -> dict[str, Any]:
    """The journal leaves out what a new row does not say."""
    return {column: value for column, value in row.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Replayed:
    """An example over a database that was built from a journal, and all that was called in it."""

    app: App
    called: list[str]

    def rows(self, record: type[Any], run_id: str) -> list[dict[str, Any]]:
        """The evidence in the rows of a run."""
        table = BY_RECORD[record]
        with self.app.open().read() as reader:
            found = [row for row in reader.rows(record) if row.run_id == run_id]
        columns = [dict(zip(table.journaled, map(plain, table.evidence_of(row)), strict=True)) for row in found]
        return [told(row) for row in columns]

    def kinds(self, run_id: str) -> list[str]:
        with self.app.open().read() as reader:
            return [entry.kind.value for entry in reader.entries(run_id)]

    def drive(self, run_id: str) -> None:
        """A worker takes it up, until it has ended or is parked. Time stands still."""
        asyncio.run(self._driven(run_id))

    async def _driven(self, run_id: str) -> None:
        opened, loop, over = self.app.open(), asyncio.get_running_loop(), asyncio.Event()

        def committed(_: Any) -> None:
            if self.rows(RunRecord, run_id)[0]["state"] not in ("pending", "running"):
                loop.call_soon_threadsafe(over.set)

        worker = self.app.new_worker(only=frozenset({run_id}))
        opened.listeners.add(committed)
        part = asyncio.create_task(worker.run())
        try:
            await asyncio.wait_for(over.wait(), 10)
        finally:
            opened.listeners.discard(committed)
            worker.stop()
            await part
        assert not worker.problems, worker.problems


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whatever a run calls outside the engine: a step, a model, an operation, a lookup. Each raises."""
    names: list[str] = []

    def forbidden(*given: Any, **_: Any) -> Any:
        names.append(getattr(given[0], "__name__", "a model") if given else "a model")
        raise AssertionError(f"{names[-1]} was called in a replay")

    for module, name in ((call_step, "invoke"), (sender, "invoke"), (reconcile, "invoke_lookup")):
        monkeypatch.setattr(module, name, forbidden)
    for agent in (onboarding.case_agent, refunds.refund_agent):
        monkeypatch.setattr(agent, "run", forbidden)
    return names


def replayed(recorded: Recorded, file: Path, folder: Path, called: list[str]) -> Iterator[Replayed]:
    (folder / "db").mkdir()
    build(recorded, folder / "db" / "counterfoil.db", folder / "state")
    example = APPS[file.stem.partition("-")[0]]
    before = (example.db, example.clock)
    example.db, example.clock = str(folder / "db" / "counterfoil.db"), FakeClock(recorded.entries[-1].at + 1)
    try:
        yield Replayed(example, called)
    finally:
        example.close()
        example.db, example.clock = before


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    for name in ("CRM_URL", "STRIPE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("STRIPE_KEY", "not-a-secret")


@pytest.fixture
def here(request: pytest.FixtureRequest, tmp_path: Path, settings: None, called: list[str]) -> Iterator[Replayed]:
    file, run_id = request.param
    recorded = Recorded.of(file)
    yield from replayed(recorded.before_the_end(run_id) if run_id else recorded, file, tmp_path, called)


def name_of(given: tuple[Path, str | None]) -> str:
    file, run_id = given
    return f"{file.parent.name}-{file.stem}" + (f"-{Recorded.of(file).run_ids.index(run_id) + 1}" if run_id else "")


def test_there_are_journals_of_both_examples() -> None:
    assert {file.stem.partition("-")[0] for file in FILES} == set(APPS)


@pytest.mark.parametrize("here", [(file, None) for file in FILES], ids=name_of, indirect=True)
def test_a_database_built_from_its_journal_is_sound(here: Replayed) -> None:
    report = here.app.verify()
    assert report["sound"], report
    assert report["rows_compared"] > 0
    with here.app.open().read() as reader:
        assert reader.installation is not None and reader.installation.restore_state is None


@pytest.mark.parametrize(
    ("here", "given"), [(run, run) for run in RUNS], ids=[name_of(run) for run in RUNS], indirect=["here"]
)
def test_a_run_replays_to_its_record(here: Replayed, given: tuple[Path, str]) -> None:
    file, run_id = given
    recorded = Recorded.of(file)
    (wanted,) = recorded.rows_of("runs", run_id)
    entries = [entry for entry in recorded.entries if entry.run_id == run_id]
    assert here.rows(RunRecord, run_id)[0]["state"] not in ("completed", "parked"), "its end was taken away"
    here.drive(run_id)
    (run,) = here.rows(RunRecord, run_id)
    for column in (
        "state",
        "reason",
        "owner",
        "owner_then",
        "result",
        "failure",
        "failed_tries",
        "spent_micros",
    ):
        assert run.get(column) == wanted.get(column), column
    # A later release may say more of what happened; the state's or the reason's own sentence stays.
    assert run["sentence"].partition(".")[0] == wanted["sentence"].partition(".")[0]
    assert here.rows(OperationRecord, run_id) == [told(row) for row in recorded.rows_of("operations", run_id)]
    assert here.called == []
    before = [entry.kind.value for entry in recorded.before_the_end(run_id).entries if entry.run_id == run_id]
    added = here.kinds(run_id)[len(before) :]
    assert added == ["started", entries[len(before)].kind.value], "a replay writes its end and nothing else"
    assert here.app.verify()["sound"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_record_that_the_code_does_not_ask_for_is_found(
    file: Path, tmp_path: Path, settings: None, called: list[str]
) -> None:
    recorded = Recorded.of(file)
    run_id = recorded.run_ids[0]
    entries = [
        replace(entry, name="another_step") if entry.kind is EntryKind.STEP else entry
        for entry in recorded.before_the_end(run_id).entries
    ]
    for here in replayed(Recorded(tuple(entries)), file, tmp_path, called):
        here.drive(run_id)
        assert here.rows(RunRecord, run_id)[0]["reason"] == "code_changed"
        assert not here.app.verify()["sound"], "nor is the chain what it was"
    assert called == []
