"""Reading: snapshots, and the questions a worker asks."""

from dataclasses import replace

from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import ReviewState
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Read
from counterfoil.testing.conformance.bench import Act, Bench, done, putting, raises, step
from counterfoil.testing.conformance.samples import attempt_of, operation_of, review_of, run_named


def a_snapshot_stands_still(bench: Bench) -> None:
    """What is committed while a snapshot is open is not seen in it, and seen in the next."""
    database = bench.with_runs("run_a")
    with database.reader() as reader:
        assert len(reader.entries("run_a")) == 1
        done(database, step("run_a", "0.1"))
        assert len(reader.entries("run_a")) == 1
        run = reader.get(RunRecord, "run_a")
        assert run is not None
        assert run.sequence == 0
    with database.reader() as reader:
        assert len(reader.entries("run_a")) == 2


def two_snapshots_at_once(bench: Bench) -> None:
    """Snapshots do not disturb each other."""
    database = bench.with_runs("run_a")
    with database.reader() as first:
        assert first.get(RunRecord, "run_a") is not None
        done(database, step("run_a", "0.1"))
        with database.reader() as second:
            assert (len(first.entries("run_a")), len(second.entries("run_a"))) == (1, 2)


def a_reader_left_in_the_middle(bench: Bench) -> None:
    """Rows that nobody read to the end, and an error in the block, do not keep the next snapshot from being new."""
    database = bench.with_runs("run_a", "run_b")
    with database.reader() as reader:
        unfinished = reader.rows(RunRecord)
        assert next(unfinished).sequence == 0
    with raises(ZeroDivisionError), database.reader() as reader:
        others = reader.journal()
        next(others)
        raise ZeroDivisionError
    done(database, step("run_a", "0.1"))
    with database.reader() as reader:
        assert next(reader.rows(RunRecord)).sequence == 1
    del unfinished, others


def rows_come_in_order(bench: Bench) -> None:
    """Found rows stand in the table's order, whatever order they were written in."""
    database = bench.with_runs("run_a")
    operations = [operation_of("run_a", f"op_{n}", n) for n in (3, 1, 2)]
    attempts = [attempt_of(operations[0], n) for n in (12, 2, 1)]
    done(database, putting(*operations, *attempts))
    with database.reader() as reader:
        assert [found.number for found in reader.find(OperationRecord, "run_id", "run_a")] == [1, 2, 3]
        assert [found.n for found in reader.find(AttemptRecord, "operation_id", "op_3")] == [1, 2, 12]
        assert reader.find(OperationRecord, "run_id", "run_x") == []
    reads = (Read.by(AttemptRecord, "operation_id", "op_3"), Read.all(PersonRecord))
    (found, nobody) = done(
        database,
        Act(reads, lambda tx: [attempt.n for attempt in tx.find(AttemptRecord, "operation_id", "op_3")]),
        Act(reads, lambda tx: tx.all(PersonRecord)),
    )
    assert (found, nobody) == ([1, 2, 12], [])


def claimable_runs(bench: Bench) -> None:
    """Runs are claimable when they are due and no living lease holds them, the longest due first."""
    database = bench.installed()
    wanted = {
        "run_late": (50, None),
        "run_early": (10, None),
        "run_lease_over": (30, 99),
        "run_leased": (20, 101),
        "run_not_due": (101, None),
        "run_waits": (None, None),
    }
    done(
        database,
        putting(
            *(
                replace(run_named(name, number), due_at=due, lease_until=lease)
                for number, (name, (due, lease)) in enumerate(wanted.items(), 1)
            )
        ),
    )
    with database.reader() as reader:
        assert reader.due.any(100, 10) == ["run_early", "run_lease_over", "run_late"]
        assert reader.due.any(100, 1) == ["run_early"]
        assert reader.due.any(9, 10) == []
        assert reader.due.next() == 10


def nothing_is_due(bench: Bench) -> None:
    """Without a run that is due there is no next time."""
    database = bench.with_runs("run_a")
    with database.reader() as reader:
        assert reader.due.next() is None
        assert reader.due.any(10**18, 5) == []


def due_by_version_and_by_pool(bench: Bench) -> None:
    """A worker finds the runs of its own versions, those of others, and those that wait for room, the longest first."""
    database = bench.installed()
    wanted = {
        "run_new": ("refund", 2, 30, None),
        "run_old": ("refund", 1, 10, None),
        "run_mail": ("mail", 1, 20, None),
        "run_held_late": ("refund", 2, 900, "workflow:refund"),
        "run_held": ("refund", 2, 800, "workflow:refund"),
        "run_elsewhere": ("mail", 1, 850, "receiver:smtp"),
    }
    rows = [
        replace(
            run_named(name, number),
            workflow=workflow,
            workflow_version=version,
            due_at=due,
            lease_until=None,
            state=RunState.PENDING,
            held_for=pool,
        )
        for number, (name, (workflow, version, due, pool)) in enumerate(wanted.items(), 1)
    ]
    ended = replace(
        run_named("run_ended", 7), state=RunState.COMPLETED, workflow="refund", due_at=None, held_for="workflow:refund"
    )
    done(database, putting(*rows, ended))
    with database.reader() as reader:
        assert reader.due.of({"refund/2", "mail/1"}, 100, 10) == ["run_mail", "run_new"]
        assert reader.due.of(set(), 100, 10) == []
        assert reader.due.elsewhere({"refund/2"}, 100, 1) == ["run_old"]
        assert reader.due.held_pools() == ["receiver:smtp", "workflow:refund"]
        refunds = {"refund/2", "mail/1"}
        assert reader.due.held_for("workflow:refund", refunds, 10) == ["run_held", "run_held_late"]
        assert reader.due.held_for("workflow:refund", refunds, 1) == ["run_held"]
        assert reader.due.held_for("workflow:refund", {"refund/1"}, 10) == []
        assert reader.due.held_for("workflow:other", refunds, 10) == []
        counted = [reader.due.held_count(pool, 2) for pool in ("workflow:refund", "receiver:smtp", "workflow:other")]
        assert counted == [2, 1, 0]


def unresolved_operations(bench: Bench) -> None:
    """Operations in flight and unknown are unresolved, by number."""
    database = bench.with_runs("run_a")
    done(
        database,
        putting(
            *(
                replace(operation_of("run_a", f"op_{number}", number), status=status)
                for number, status in enumerate((*OperationStatus, OperationStatus.IN_FLIGHT), 1)
            )
        ),
    )
    with database.reader() as reader:
        assert [(found.number, found.status.value) for found in reader.unresolved()] == [
            (2, "in_flight"),
            (5, "unknown"),
            (6, "in_flight"),
        ]


def open_reviews_by_deadline(bench: Bench) -> None:
    """Open reviews stand by their deadline."""
    database = bench.with_runs("run_a")
    operation = operation_of("run_a", "op_1", 1)
    reviews = [review_of(operation, f"rev_{n}", n) for n in (1, 2, 3)]
    reviews[1] = replace(reviews[1], state=ReviewState.EXPIRED)
    done(database, putting(operation, *reviews))
    with database.reader() as reader:
        assert [review.review_id for review in reader.open_reviews()] == ["rev_3", "rev_1"]


def an_empty_database(bench: Bench) -> None:
    """A database without an installation can be read and says so."""
    database = bench.open()
    with database.reader() as reader:
        assert reader.installation is None
        assert list(reader.journal()) == []
        assert reader.lists.runs().items == []
