"""Metrics and traces when workers are killed: what a dead process did is counted, once, and told, once."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from counterfoil import App
from counterfoil.app.tracing import Exporting
from counterfoil.app.tracing.span import span_id
from counterfoil.model.duty import DutyRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.run import RunRecord
from tests.crash.stage import Stage
from tests.engine.collector import collecting, facts_of


class Looking:
    """The application over a stage's database, as a process that only looks."""

    def __init__(self, stage: Stage, patch: pytest.MonkeyPatch) -> None:
        for name, value in stage.environ.items():
            patch.setenv(name, value)
        self.app = App("crash", db=stage.ledger.db)
        self.app.clock = stage.clock

    def values(self, name: str) -> dict[str, Any]:
        """By labels: numbers, and the counts of histograms. Series of 0 are left out."""
        items = {item["name"]: item for item in self.app.metrics.list()["items"]}
        found = {
            " ".join(value["labels"].values()): (value["histogram"] or {"count": value["value"]})["count"]
            for value in items[f"counterfoil_{name}"]["values"]
        }
        return {labels: number for labels, number in found.items() if number}


@pytest.mark.parametrize("at", ["operation.first_byte", "before:operation.classified", "before:step.ended"])
def test_a_killed_worker_is_one_lost_lease_and_one_recovery(
    at: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.dies(at)
    looking = Looking(stage, monkeypatch)
    assert looking.values("lease_losses_total") == {} and looking.values("recovery_duration_seconds") == {}
    sending = at != "before:step.ended"
    attempts = [each for each in stage.rows(AttemptRecord) if each.ended_at is None]
    assert len(attempts) == sending
    if sending:
        stage.clock.advance(timedelta(minutes=10))
        assert sum(looking.values("operations_unresolved").values()) == 1, "in flight, and nobody sends it any more"
        assert max(looking.values("operations_unresolved_oldest_seconds").values()) > 500
    stage.lives()
    stage.check_whole_story()
    assert looking.values("operations_unresolved") == {}
    losses = looking.values("lease_losses_total")[""]
    assert losses >= 1
    recovered = looking.values("recovery_duration_seconds")
    assert 1 <= recovered["crash"] <= losses
    repeated = sum(looking.values("attempts_repeated_total").values())
    assert repeated == sum(attempt.n > 1 for attempt in stage.rows(AttemptRecord))
    # Counted in one go by a process that saw nothing of it, and stored: still the same.
    before = {item["name"]: item["values"] for item in looking.app.metrics.list()["items"] if item["kind"] == "counter"}
    asyncio.run(looking.app.metrics.store_counted())
    again = {item["name"]: item["values"] for item in looking.app.metrics.list()["items"] if item["kind"] == "counter"}
    commits = "counterfoil_commits_total"
    assert {n: v for n, v in before.items() if n != commits} == {n: v for n, v in again.items() if n != commits}
    looking.app.close()


def test_killed_again_before_it_came_further_is_the_same_recovery(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.dies("before:step.ended", workflow="everything")
    for _ in range(2):
        stage.dies("run.claimed")
    stage.lives()
    looking = Looking(stage, monkeypatch)
    assert looking.values("lease_losses_total")[""] >= 3
    assert (
        looking.values("recovery_duration_seconds")["crash"] <= 2
    )  # one of the story's run, one of the run that waits
    looking.app.close()


@pytest.mark.parametrize("at", ["operation.first_byte#2", "step.ended", "decision.accepted"])
def test_every_span_reaches_the_collector_once(at: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first life tells while it lives and is killed; the second replays and tells on; what is left a third tells."""
    with collecting() as collector:
        environ = {"TOLD_TO": collector.url}
        stage.dies(at, "told", environ=environ)
        stage.lives("told", environ=environ)
        stage.check_whole_story()
        asyncio.run(_rest(Looking(stage, monkeypatch).app, stage, collector.url))
        told = len(collector.spans)
        asyncio.run(_rest(Looking(stage, monkeypatch).app, stage, collector.url))
        assert len(collector.spans) == told, "what is marked as told is not told again"
    # The first life may be killed between the collector's answer and its own mark: then one stretch comes again, the same.
    again = {ident for ident, times in Counter(collector.ids()).items() if times > 1}
    for ident in again:
        alike = [span for span in collector.spans if span.span_id.hex() == ident]
        assert len(alike) == 2 and alike[0] == alike[1]
    assert set(_expected(stage)) <= set(collector.ids())
    lost = [life for life in collector.named("worker") if facts_of(life)["counterfoil.left"] == "lost"]
    taken = [link.span_id for life in collector.named("worker") for link in life.links]
    assert lost and {life.span_id for life in lost} == set(taken), "whoever took up a lost run links to who lost it"


async def _rest(app: App, stage: Stage, url: str) -> None:
    exporting = Exporting(app, url)
    with app.open().read() as reader:
        duty = reader.get(DutyRecord, "traces")
    assert duty is not None and duty.mark > 0
    stage.clock.advance(timedelta(minutes=1))  # the lease of whoever was killed is over
    await exporting.tell_traces()
    app.close()


def _expected(stage: Stage) -> list[str]:
    """From the records: a span for each run, step, decision, operation and attempt."""
    found: list[tuple[str, str, str | int]] = []
    for run in stage.rows(RunRecord):
        for entry in stage.entries(run.run_id):
            kinds = {EntryKind.STEP: "step", EntryKind.STEP_FAILED: "step", EntryKind.DECISION: "decision"}
            if entry.kind in kinds:
                found.append((run.run_id, kinds[entry.kind], entry.sequence))
        found.append((run.run_id, "run", 0))
    found += [(o.run_id, "operation", o.operation_id) for o in stage.rows(OperationRecord)]
    found += [(a.run_id, "attempt", a.attempt_id) for a in stage.rows(AttemptRecord)]
    return [f"{span_id(*each):016x}" for each in found]
