"""The lists that people look at."""

from collections import Counter
from dataclasses import replace

from counterfoil.model.conversation import SignalRecord
from counterfoil.model.inbox import TendingRecord
from counterfoil.model.installation import SuspensionRecord, WorkerRecord
from counterfoil.model.operation import OperationStatus
from counterfoil.model.people import PersonRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.review import ReviewState
from counterfoil.model.run import RunState
from counterfoil.store.port import Database, Found
from counterfoil.testing.conformance.bench import Bench, done, putting
from counterfoil.testing.conformance.samples import (
    DIGEST,
    conversation_named,
    document_numbered,
    incident_of,
    operation_of,
    review_of,
    run_named,
)


def _seven_runs(bench: Bench) -> Database:
    database = bench.installed()
    runs = [replace(run_named(f"run_{n}", n), workflow="refund" if n % 2 else "onboard") for n in range(1, 8)]
    runs[2] = replace(runs[2], state=RunState.PARKED, reason="outcome_unknown")
    runs[4] = replace(runs[4], state=RunState.PARKED, reason="expired")
    done(database, putting(*runs))
    return database


def runs_page_by_page(bench: Bench) -> None:
    """Pages follow each other from the newest down, and the last one says that it is the last."""
    database = _seven_runs(bench)
    with database.reader() as reader:
        numbers: list[list[int]] = []
        cursor: int | None = None
        while True:
            page = reader.lists.runs(before=cursor, limit=3)
            numbers.append([run.number for run in page.items])
            cursor = page.next_cursor
            if cursor is None:
                break
    assert numbers == [[7, 6, 5], [4, 3, 2], [1]]


def a_full_last_page_is_the_last(bench: Bench) -> None:
    """A page that ends exactly with the list has no next one."""
    database = _seven_runs(bench)
    with database.reader() as reader:
        assert reader.lists.runs(limit=7).next_cursor is None
        assert reader.lists.runs(limit=6).next_cursor == 2


def runs_by_state_workflow_and_reason(bench: Bench) -> None:
    """Filters of runs hold alone and together, with pages."""
    database = _seven_runs(bench)
    with database.reader() as reader:
        lists = reader.lists
        assert [run.number for run in lists.runs(state="parked").items] == [5, 3]
        assert [run.number for run in lists.runs(state="parked", reason="expired").items] == [5]
        assert [run.number for run in lists.runs(reason="outcome_unknown").items] == [3]
        assert [run.number for run in lists.runs(workflow="onboard").items] == [6, 4, 2]
        assert [run.number for run in lists.runs(state="running", workflow="refund", before=7).items] == [1]
        page = lists.runs(state="running", limit=2)
        assert ([run.number for run in page.items], page.next_cursor) == ([7, 6], 6)


def open_runs_by_version(bench: Bench) -> None:
    """Runs that have not ended are counted by workflow, version and state."""
    database = _seven_runs(bench)
    with database.reader() as reader:
        found = reader.figures.open_versions()
        open_runs = [run for run in reader.lists.runs(limit=50).items if not run.state.ended]
    counted = Counter((run.workflow, run.workflow_version, run.state.value) for run in open_runs)
    assert found == sorted((*of, count) for of, count in counted.items())


def operations_by_status_and_receiver(bench: Bench) -> None:
    """Filters of operations hold alone and together."""
    database = bench.with_runs("run_a")
    rows = [operation_of("run_a", f"op_{n}", n) for n in range(1, 5)]
    rows[1] = replace(rows[1], status=OperationStatus.UNKNOWN)
    rows[3] = replace(rows[3], status=OperationStatus.UNKNOWN, receiver="crm")
    done(database, putting(*rows))
    with database.reader() as reader:
        lists = reader.lists
        assert [row.number for row in lists.operations().items] == [4, 3, 2, 1]
        assert [row.number for row in lists.operations(status="unknown").items] == [4, 2]
        assert [row.number for row in lists.operations(status="unknown", receiver="crm").items] == [4]
        assert [row.number for row in lists.operations(receiver="stripe", before=3).items] == [2, 1]


def reviews_by_state(bench: Bench) -> None:
    """Reviews by number, all or of one state."""
    database = bench.with_runs("run_a")
    operation = operation_of("run_a", "op_1", 1)
    reviews = [review_of(operation, f"rev_{n}", n) for n in (1, 2, 3)]
    reviews[0] = replace(reviews[0], state=ReviewState.REJECTED)
    done(database, putting(operation, *reviews))
    with database.reader() as reader:
        assert [row.number for row in reader.lists.reviews().items] == [3, 2, 1]
        assert [row.number for row in reader.lists.reviews(state="open", before=3).items] == [2]


def incidents_open_and_closed(bench: Bench) -> None:
    """Incidents by number, all or the open ones."""
    database = bench.with_runs("run_a")
    operation = operation_of("run_a", "op_1", 1)
    incidents = [incident_of(operation, f"inc_{n}", n) for n in (1, 2)]
    incidents[1] = replace(incidents[1], closed_at=5, closed_by="ana", reason="refunded by hand")
    done(database, putting(operation, *incidents))
    with database.reader() as reader:
        assert [row.number for row in reader.lists.incidents().items] == [2, 1]
        assert [row.number for row in reader.lists.incidents(open_only=True).items] == [1]


def signals_by_arrival(bench: Bench) -> None:
    """Signals come newest first, of all runs or of one, page by page."""
    database = bench.with_runs("run_a", "run_b")
    for number, run_id in enumerate(("run_a", "run_b", "run_a"), 1):
        done(database, putting(SignalRecord(run_id, f"sig_{number}", "paid", "{}", DIGEST, 5, None)))
    with database.reader() as reader:
        first = reader.lists.signals(limit=2)
        assert [row.signal_id for row in first.items] == ["sig_3", "sig_2"]
        rest = reader.lists.signals(before=first.next_cursor)
        assert [row.signal_id for row in rest.items] == ["sig_1"]
        assert [row.signal_id for row in reader.lists.signals(run_id="run_a").items] == ["sig_3", "sig_1"]


def people_suspensions_and_workers(bench: Bench) -> None:
    """The short lists: people by name, suspensions and workers newest first."""
    database = bench.installed()
    done(
        database,
        putting(
            PersonRecord("oscar", "[]", "hash", "ana", 1, None),
            PersonRecord("ana", "[]", "hash", None, 2, 3),
            SuspensionRecord("all", "they asked", "ana", 1, 2, "oscar"),
            SuspensionRecord("receiver:crm", "they asked", "ana", 2, None, None),
            WorkerRecord("wrk_1", "here", "boot", 1, "{}", 1, 1, 0, None),
            WorkerRecord("wrk_2", "here", "boot", 2, "{}", 2, 2, 0, None),
        ),
    )
    with database.reader() as reader:
        assert [row.name for row in reader.lists.people()] == ["ana", "oscar"]
        assert [row.scope for row in reader.lists.suspensions()] == ["receiver:crm", "all"]
        assert [row.worker_id for row in reader.lists.workers()] == ["wrk_2", "wrk_1"]


def finding_by_anything(bench: Bench) -> None:
    """A thing is found by the start of its id, its number, its business key, reference, request id or target; a person by name."""
    database = bench.installed()
    run = run_named("run_abc", 41)
    key = "stripe\x1ftest\x1fcreate_refund\x1f4711"
    operation = replace(operation_of("run_abc", "op_abd", 41), business_key=key, target="ch_7")
    receipt = ReceiptRecord("rcp_x", "op_abd", "run_abc", None, "reply", "re_99", "{}", DIGEST, "existence", 1)
    ana = PersonRecord("ana", "[]", "hash", None, 2, None)
    holds = TendingRecord("run_abd", "run_abd", "ana", 5, None, None, None, None, None, None)
    talk, document = conversation_named("conv_x", 43), document_numbered("doc_x", 44)
    done(database, putting(run, run_named("run_abd", 42), operation, receipt, ana, holds, talk, document))
    as_talk = Found("conversation", "conv_x", 43, talk.name, None, "name")
    as_run = Found("run", "run_abc", 41, "refund request run_abc", "run_abc", "id")
    as_operation = Found("operation", "op_abd", 41, "stripe test create_refund 4711", "run_abc", "id")
    with database.reader() as reader:
        find = reader.lists.find
        assert find("run_abc") == reader.lists.named("run_abc") == [as_run]
        assert [found.id for found in find("run_ab")] == ["run_abc", "run_abd"]
        assert find("op_a") == [as_operation]
        assert find("run-41") == [replace(as_run, matched="number")]
        assert find("op-41") == [replace(as_operation, matched="number")]
        assert [found.kind for found in find("41")] == ["run", "operation"]
        assert find("4711") == find(key) == [replace(as_operation, matched="business key")]
        assert find("re_99") == [replace(as_operation, matched="reference")]
        assert find("ch_7") == [replace(as_operation, matched="target")]
        assert find("request run_abc") == [replace(as_run, matched="request id")]
        assert [(found.kind, found.id, found.matched) for found in find("ana")] == [
            ("person", "ana", "person"), ("run", "run_abd", "works on"),
        ]  # fmt: skip
        assert find(talk.name) == [as_talk]
        assert find("conversation-43") == [replace(as_talk, matched="number")] and find("conv_") == [
            replace(as_talk, matched="id")
        ]
        assert find("doc-44") == [Found("document", "doc_x", 44, "preferences", None, "number")]
        assert reader.lists.named("4711") == reader.lists.named(talk.name) == []
        assert find("nothing") == find("") == find("%") == find("run_zz") == []
        assert len(find("run_ab", limit=1)) == 1
