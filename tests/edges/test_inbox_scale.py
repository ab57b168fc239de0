"""The inbox grows with what is open, never with what has ended: by the plans, and by how much a filled ledger costs."""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import apsw
import pytest

from benchmarks.filling import contract_stored, fill, finished, waiting_for_a_review
from benchmarks.suites.inbox import looks, timed
from benchmarks.workload import opened, steps_app
from counterfoil.app import App
from counterfoil.app.verification import verify
from counterfoil.model.inbox import InboxFilter
from counterfoil.store.migrate import schema
from counterfoil.store.queries import sql
from counterfoil.store.reader_inbox import SOURCES, counts_of, page_of

OPEN, ENDED = 200, 2_000
FOUND_BY = {
    "inbox_reviews": "reviews_open",
    "inbox_parked": "runs_parked",
    "inbox_incidents": "incidents_due",
    "inbox_overdue": "runs_unended",
}
"""The partial index over what is open that each source goes by."""


def plan_of(statement: str) -> str:
    connection = apsw.Connection(":memory:")
    connection.execute(schema())
    names = dict.fromkeys(re.findall(r":(\w+)", statement))
    return "\n".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", names))


@pytest.mark.parametrize("source", SOURCES)
def test_a_page_and_the_counts_go_by_partial_indexes_alone(source: str) -> None:
    narrow, wide = frozenset[str](), frozenset({"owner", "roles", "text", "receiver"})
    statements = [page_of(source, narrow), page_of(source), counts_of(source, narrow), counts_of(source, wide)]
    for plan in map(plan_of, statements):
        assert f"r USING INDEX {FOUND_BY[source]}" in plan or f"i USING INDEX {FOUND_BY[source]}" in plan, plan
        # Nothing else is walked through: all joins are by key or by run, and what a page gives is in order already.
        walked = re.findall(r"SCAN (\w+)(?! USING INDEX (?:reviews_open|runs_parked|incidents_due|runs_unended))", plan)
        assert set(walked) <= {"json_each", "counted"}, plan  # `counted` is the list that was found


def test_counting_what_nobody_narrows_reads_no_row_of_a_run_or_an_operation() -> None:
    for name, looked_at in ((frozenset[str](), False), (frozenset({"text"}), True)):
        plan = plan_of(counts_of("inbox_reviews", name))
        for joined in ("runs", "o"):
            assert (f"SEARCH {joined} USING" in plan) is looked_at, plan
            assert f"SEARCH {joined} USING COVERING INDEX" not in plan, "neither its row nor its key, or both"


def test_a_page_is_not_sorted() -> None:
    """What is sorted is at most the few operations of one run."""
    for source in ("inbox_reviews", "inbox_incidents"):
        assert "TEMP B-TREE" not in plan_of(page_of(source))
    for source in ("inbox_parked", "inbox_overdue"):
        steps = plan_of(page_of(source)).splitlines()
        sorts = [n for n, step in enumerate(steps) if "TEMP B-TREE" in step]
        assert [steps[n - 1] for n in sorts] == ["SEARCH w USING INDEX operations_run_id (run_id=?)"]


def test_the_audit_reads_only_what_people_did() -> None:
    for name, index in (("list_acts", "entries_acts"), ("list_acts_of", "entries_by")):
        plan = plan_of(sql(name))
        assert f"INDEX {index}" in plan and "TEMP B-TREE" not in plan, plan


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    monkeypatch.setenv("COUNTERFOIL_STATE", "")  # put back what the benchmark's own opening sets
    monkeypatch.setenv("COUNTERFOIL_CONCURRENCY", "")
    with opened(steps_app(), tmp_path) as made:
        contract_stored(made.open())
        yield made


def test_two_thousand_ended_runs_cost_the_inbox_nothing(app: App) -> None:
    waiting = fill(app, OPEN, waiting_for_a_review, prefix="open")
    before = {name: median(timed(look)[1]) for name, look in looks(app, waiting[100]).items()}
    fill(app, ENDED, finished, prefix="ended")
    after = {name: median(timed(look)[1]) for name, look in looks(app, waiting[100]).items()}
    # Ten times the runs: whatever walked through them would take ten times as long. Small times waver, so there is room.
    slow = {name: (before[name], took) for name, took in after.items() if took > 3 * before[name] + 2}
    assert not slow
    assert app.inbox.counts()["total"] == OPEN
    assert len(app.inbox.list(InboxFilter(mine="ana"), limit=500)["items"]) == OPEN
    assert [hit["matched"] for hit in app.find("request-7")["items"]] == ["request id", "business key"]
    report = verify(app.open)
    assert report["sound"], report  # the rows are as the engine's own: each stands in the journal
