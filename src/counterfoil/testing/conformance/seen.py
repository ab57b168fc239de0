"""Lists leave out what may not be seen: whole workflows, and operations by name."""

from dataclasses import replace

from counterfoil.model.conversation import SignalRecord
from counterfoil.model.review import ReviewState
from counterfoil.rules.permissions import Place
from counterfoil.store.port import Database
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

PLACES: list[tuple[list[Place], list[int]]] = [
    ([(None, None)], [3, 2, 1]),
    ([("refund", None)], [3, 1]),
    ([("hire", None)], [2]),
    ([(None, "pay")], [3, 2]),
    ([("refund", "pay")], [3]),
    ([("refund", "pay"), ("hire", "pay")], [3, 2]),
    ([("refund", "hire"), ("none", None)], []),
    ([], []),
]
"""Where may be seen, and the numbers of what is then listed."""


def _filled(bench: Bench) -> Database:
    """Operations 1 (refund, send), 2 (hire, pay) and 3 (refund, pay), each with a review, an incident and a signal of its run."""
    database = bench.installed()
    runs = [replace(run_named(f"run_{n}", n), workflow="hire" if n == 2 else "refund") for n in (1, 2, 3)]
    operations = [replace(operation_of(r.run_id, f"op_{r.number}", r.number), name="pay") for r in runs]
    operations[0] = replace(operations[0], name="send")
    done(database, putting(*runs, *operations))
    for operation in operations:
        n = operation.number
        review, incident = review_of(operation, f"rev_{n}", n), incident_of(operation, f"inc_{n}", n)
        signal = SignalRecord(operation.run_id, f"sig_{n}", "paid", "{}", DIGEST, 5, None)
        done(database, putting(review, incident, signal))
    return database


def by_place(bench: Bench) -> None:
    """Operations, reviews and incidents, in every list of theirs, with the cursor of what is seen alone."""
    database = _filled(bench)
    with database.reader() as reader:
        lists = reader.lists
        for places, numbers in PLACES:
            status = lists.operations(places=None).items[0].status.value
            assert [row.number for row in lists.operations(places=places).items] == numbers, places
            assert [row.number for row in lists.operations(status=status, places=places).items] == numbers, places
            assert [row.number for row in lists.reviews(places=places).items] == numbers, places
            assert [row.number for row in lists.reviews(state=ReviewState.OPEN.value, places=places).items] == numbers
            assert [row.number for row in lists.incidents(places=places).items] == numbers, places
            assert [row.number for row in lists.incidents(open_only=True, places=places).items] == numbers, places
        page = lists.operations(places=[("refund", None)], limit=1)
        assert ([row.number for row in page.items], page.next_cursor) == ([3], 3)
        assert lists.operations(places=[("refund", "pay")], limit=1).next_cursor is None


def by_workflow(bench: Bench) -> None:
    """Runs, signals, conversations and documents; no workflow at all is not the same as every one."""
    database = _filled(bench)
    talks = [replace(conversation_named(f"conv_{n}", n), agent="hire" if n == 2 else "refund") for n in (1, 2, 3)]
    documents = [document_numbered(f"doc_{n}", n, "hire" if n == 2 else "refund") for n in (1, 2, 3)]
    done(database, putting(*talks, *documents))
    with database.reader() as reader:
        lists = reader.lists
        state = lists.runs().items[0].state.value
        for workflows, numbers in ((["refund"], [3, 1]), (["hire", "none"], [2]), ([], []), (None, [3, 2, 1])):
            assert [run.number for run in lists.runs(workflows=workflows).items] == numbers
            assert [run.number for run in lists.runs(state=state, workflows=workflows).items] == numbers
            signals = [int(row.signal_id.removeprefix("sig_")) for row in lists.signals(workflows=workflows).items]
            assert signals == numbers
            assert [each.number for each in lists.conversations(workflows=workflows).items] == numbers
            assert [each.number for each in lists.documents(workflows=workflows).items] == numbers
        page = lists.conversations(limit=2)
        assert ([each.number for each in page.items], page.next_cursor) == ([3, 2], 2)
        assert [each.number for each in lists.conversations(before=2).items] == [1]
        assert lists.runs(workflow="hire", workflows=["refund"]).items == []
