"""What is made alike, so that situations in which nothing differs that a rule compares are one state. Nothing else is left out.

Times count from now: a state has no clock, and when time passes every stored time moves back instead. What lies further
back than every time of the contracts keeps its order and nothing more. How long a review is good for is left open: it
expires in one leap or not at all. The run's fence is always the same number, an older one is always the number below.
Processes that are gone all have one name.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from counterfoil.model.installation import BusinessKeyRecord, IncidentRecord, InstallationRecord, SuspensionRecord
from counterfoil.model.journal import GENESIS
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.records import changed as replace
from counterfoil.testing.explore.kinds import SECOND

START = 1_000_000 * SECOND
DAY_US = 24 * 3600 * SECOND
FENCE = 8
GONE = "gone"
REVIEW_US = 600 * SECOND
LONGEST_US = 200 * SECOND  # more than any sum of times that a rule makes
LONG_AGO = 1  # the run was there before whatever was restored
_OTHER = {"w1": "w2", "w2": "w1"}

Rows = Mapping[type[Any], Mapping[Any, Any]]

TIMES: dict[type[Any], tuple[str, ...]] = {
    RunRecord: ("due_at", "lease_until"),
    OperationRecord: ("first_sent_at", "in_progress_until", "resolved_at", "closed_at", "prepared_at"),
    AttemptRecord: ("started_at", "deadline_at", "ended_at", "sender_gone_at", "answer_at"),
    ReceiptRecord: ("received_at",),
    LookupRecord: ("asked_at",),
    IncidentRecord: ("closed_at",),
    InstallationRecord: ("restore_at", "restored_head_at", "lost_until"),
    BusinessKeyRecord: ("held_until",),
}
"""The stored times that rules or verbs compare."""


def plain(row: Any, now: int) -> Any:
    """A row without what no rule compares, and what only grows."""
    if isinstance(row, RunRecord):
        return replace(
            row, sequence=0, head=GENESIS, created_at=LONG_AGO, updated_at=0, crashes=0, waited_us=0, started_at=_some(row.started_at),
            waiting_since=_some(row.waiting_since), deadline_at=None if row.deadline_at is None else START + DAY_US,
            due_at=_over(row.due_at, now), lease_until=_over(row.lease_until, now),
        )  # fmt: skip
    if isinstance(row, OperationRecord):
        return replace(row, version=1, next_at=None, doubt_at=None)
    if isinstance(row, InstallationRecord):
        return replace(row, batches=0, rolling=GENESIS, in_flight_batch=0, clock_us=0)
    if isinstance(row, ReviewRecord):
        good = START + REVIEW_US if row.expires_at > now else 0
        return replace(row, opened_at=START, decided_at=_some(row.decided_at), expires_at=good)
    if isinstance(row, ProposalRecord):
        return replace(row, made_at=0)
    if isinstance(row, AnswerRecord):
        return replace(row, at=0)
    if isinstance(row, IncidentRecord):
        return replace(row, opened_at=0)
    if isinstance(row, SuspensionRecord):
        return replace(row, at=0, lifted_at=_some(row.lifted_at))
    if isinstance(row, PersonRecord):
        return replace(row, revoked_at=_some(row.revoked_at))
    return row


def earlier(rows: Rows, by: int, now: int) -> Rows:
    """A ledger after time has passed: its times lie further back. 0 stays 0: over, however long."""
    olds = sorted({t - by for row in _every(rows) for t in _times(row) if 0 < t - by < now - LONGEST_US})
    known = {old: now - LONGEST_US - len(olds) + place for place, old in enumerate(olds)}

    def moved(row: Any) -> Any:
        names = TIMES.get(_kind(row), ())
        times: dict[str, int] = {name: value - by for name in names if (value := getattr(row, name))}
        times = {name: known.get(value, value) for name, value in times.items()}
        if isinstance(row, OperationRecord):
            times["prepared_at"] = max(times["prepared_at"], now - LONGEST_US)
        if isinstance(row, ReviewRecord) and by >= REVIEW_US:
            times["expires_at"] = 0
        return plain(replace(row, **times), now) if times else row

    return {record: {key: moved(row) for key, row in members.items()} for record, members in rows.items()}


def _kind(row: Any) -> type[Any]:
    return cast("type[Any]", type(row))


def _every(rows: Rows) -> Iterator[Any]:
    return (row for members in rows.values() for row in members.values())


def _times(row: Any) -> Iterator[int]:
    return (value for name in TIMES.get(_kind(row), ()) if (value := getattr(row, name)))


def swapped(row: Any) -> Any:
    """A row with the two workers' names exchanged."""
    if isinstance(row, AttemptRecord | RunRecord) and row.worker_id in _OTHER:
        return replace(row, worker_id=_OTHER[row.worker_id])
    return row


def renamed(row: Any, processes: frozenset[str]) -> Any:
    """A row after these processes have ended."""
    if isinstance(row, AttemptRecord | RunRecord) and row.worker_id in processes:
        return replace(row, worker_id=GONE)
    return row


def fenced(row: Any, fence: int) -> Any:
    """A row of a ledger whose run has this fence: it is FENCE now, and every other is the one below."""
    if isinstance(row, AttemptRecord | RunRecord):
        return replace(row, fence=FENCE if row.fence == fence else FENCE - 1)
    return row


def _some(value: int | None) -> int | None:
    return None if value is None else START


def _over(value: int | None, now: int) -> int | None:
    """A time that has come is as good as any other that has."""
    return 0 if value is not None and value <= now else value
