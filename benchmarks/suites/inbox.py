"""What people look at, while many reviews are open and ever more runs have ended: it must not grow with what has ended."""

import sys
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any

import apsw

from benchmarks.figures import Ratio, Row, Suite, row
from benchmarks.filling import PERSON, contract_stored, fill, finished, waiting_for_a_review
from benchmarks.plan import Plan
from benchmarks.workload import opened, steps_app
from counterfoil.app import App
from counterfoil.model.inbox import InboxFilter
from counterfoil.store.reader_inbox import SOURCES, counts_of, page_of

REVIEWS, STAGES = 10_000, (0, 10_000, 100_000)
TIMES = 15


def inbox(plan: Plan) -> Suite:
    """Milliseconds of each look, at every stage; and how much more processor time the last stage takes than the first.

    The ratio is of the lowest processor time: what else the machine does meanwhile comes and goes between the stages.
    """
    reviews = plan.sized(REVIEWS, least=100)
    rows: list[Row] = []
    worked: dict[str, list[float]] = {}
    with plan.folder() as folder, opened(steps_app(), folder) as app:
        contract_stored(app.open())
        waiting = fill(app, reviews, waiting_for_a_review, prefix="open")
        ended: list[str] = []
        for stage in STAGES:
            wanted = plan.sized(stage) if stage else 0
            ended += fill(app, wanted - len(ended), finished, prefix=f"ended-{stage}")
            for name, look in looks(app, waiting[reviews // 2]).items():
                took, work = timed(look)
                worked.setdefault(name, []).append(min(work))
                rows.append(row("inbox", f"{name}_of_{reviews}_with_{wanted}_ended", "ms", took))
        for line in plans(str(app.open().location)):
            print(line, file=sys.stderr)
    ratios = [Ratio(f"inbox_{name}_growth_at_most", found[-1] / found[0], 1.5) for name, found in worked.items()]
    return Suite(rows, ratios)


def looks(app: App, run_id: str) -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""
    cursor = app.inbox.list(limit=50)["next_cursor"]
    nobody = InboxFilter(text="nothing holds this")  # every open thing is looked at, and none fits
    return {
        "first_page": lambda: app.inbox.list(),
        "next_page": lambda: app.inbox.list(cursor=cursor),
        "filtered": lambda: app.inbox.list(InboxFilter(receiver="crm", mine=PERSON)),
        "filtered_to_nothing": lambda: app.inbox.list(nobody),
        "counts": lambda: app.inbox.counts(),
        "preview": lambda: app.inbox.preview("hand-over", InboxFilter(receiver="crm")),
        "run_page": lambda: app.runs.show(run_id),
        "find_by_number": lambda: app.find("run-7"),
        "find_by_business_key": lambda: app.find("request-7"),
        "find_by_person": lambda: app.find(PERSON),
        "audit_page": lambda: app.audit.list(),
    }


def timed(look: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """Milliseconds of each of some calls, by the clock and by the processor, after one that warms the caches."""
    look()
    took: list[float] = []
    worked: list[float] = []
    for _ in range(TIMES):
        began, work = perf_counter(), thread_time()
        look()
        took.append((perf_counter() - began) * 1000)
        worked.append((thread_time() - work) * 1000)
    return took, worked


def plans(location: str) -> list[str]:
    """How SQLite answers each part of the inbox."""
    connection = apsw.Connection(location, flags=apsw.SQLITE_OPEN_READONLY)
    names = (
        "owner",
        "workflow",
        "receiver",
        "roles",
        "text",
        "reason",
        "now",
        "deadline",
        "subject",
        "limit",
        "snoozed",
    )
    asked: dict[str, int | None] = dict.fromkeys(names)
    lines: list[str] = []
    for kind, statement_of in (("page of", page_of), ("counts of", counts_of)):
        for source in SOURCES:
            lines.append(f"{kind} {source}")
            for _, _, _, step in connection.execute(f"EXPLAIN QUERY PLAN {statement_of(source, frozenset())}", asked):
                if "json_each" not in step and "BLOOM" not in step and "LIST SUBQUERY" not in step:
                    lines.append(f"    {step}")
    connection.close()
    return lines
