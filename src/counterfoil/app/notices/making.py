"""What is told to whom: when something begins to need a person, when its time nearly ends, when it is over, and when it left."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from counterfoil.app.notices.addresses import EVERYBODY, Addresses
from counterfoil.model import ids
from counterfoil.model.codec import compact
from counterfoil.model.duty import NoticeRecord
from counterfoil.model.moments import rfc3339
from counterfoil.model.run import PARK_SENTENCES, ParkReason
from counterfoil.store.inbox import InboxRow

SignedPath = Callable[[str, str], str | None]
"""The path of a signed link, for a review's id and who it is for."""

NEAR_US = 3600 * 1_000_000  # an hour before the deadline, and not before the last fifth of the time
SENTENCES = {
    "review": "A draft waits for approval.",
    "renewal": "A draft waits for approval once more; this may already have happened.",
    "incident": "The receiver contradicts the ledger.",
    **{reason.value: sentence for reason, sentence in PARK_SENTENCES.items()},
}


def notices_about(
    row: InboxRow,
    known: Iterable[NoticeRecord],
    addresses: Addresses,
    now: int,
    link: str | None,
    signed: SignedPath | None = None,
) -> Iterator[NoticeRecord]:
    """What is to be told of one thing, beside what was told (`known`) of it before. `signed`: for a review's people."""
    told = [notice for notice in known if notice.since_at == row.since_at]
    whats = ["entered"]
    if row.deadline_at <= now:
        whats.append("overdue")
    elif _near(row, now):
        whats.append("near")
    for what in whats:
        if what == "near" and row.snoozed_until is not None:
            continue  # put off by somebody who knows the deadline
        for name in addresses.reached(_people(row)):
            first = what == "entered" and any(n.channel == "apprise" and n.recipient != name for n in told)
            late = row.escalated_to == name or (first and row.owner == name)
            said = "escalated" if what == "entered" and late else what
            yield _notice(row, said, name, "apprise", now, _link(row, name, link, signed))
        for name in addresses.webhooks:
            yield _notice(row, what, name, "webhook", now, _link(row, EVERYBODY, link, None))


def over(notice: NoticeRecord, now: int) -> NoticeRecord:
    """Tells a webhook that what it was told of needs nobody any more."""
    parts = (notice.subject, str(notice.since_at), "left", notice.channel, notice.recipient)
    return replace(
        notice, notice_id=ids.derived("ntc", *parts), what="left", made_at=now, next_try_at=now, tries=0, sent_at=None,
        problem=None,
    )  # fmt: skip


def _near(row: InboxRow, now: int) -> bool:
    left = row.deadline_at - now
    return left <= NEAR_US and left * 5 <= row.deadline_at - row.since_at


def _people(row: InboxRow) -> list[str | None]:
    """Whoever has taken it; else who owns it, who may move it, and to whom it was escalated."""
    return [row.taken_by] if row.taken_by is not None else [row.role, row.owner, row.escalated_to]


def _notice(row: InboxRow, what: str, recipient: str, channel: str, now: int, link: str | None) -> NoticeRecord:
    # A deadline may move (a run goes to its next owner): then it is near, or over, once more.
    until = (str(row.deadline_at),) if what in ("near", "overdue") else ()
    # `escalated` is how this recipient hears of it for the first time: never beside an `entered` of the same wait.
    once = "entered" if what == "escalated" else what
    notice_id = ids.derived("ntc", row.subject, str(row.since_at), once, channel, recipient, *until)
    body = compact(_body(row, link))
    return NoticeRecord(
        notice_id, row.subject, row.since_at, row.run_id, what, recipient, channel, body, now, now, 0, None, None
    )


def _body(row: InboxRow, link: str | None) -> dict[str, Any]:
    """What may leave: names, numbers and times. No payload, no target, no comment."""
    return {
        "kind": row.kind, "subject": row.subject, "number": row.number, "run_id": row.run_id, "run_number": row.run_number,
        "workflow": row.workflow, "operation_id": row.operation_id, "operation": row.operation, "receiver": row.receiver,
        "reason": row.reason, "sentence": SENTENCES.get(row.reason, ParkReason.INCONSISTENT.value), "owner": row.owner,
        "role": row.role, "since_at": rfc3339(row.since_at), "deadline_at": rfc3339(row.deadline_at),
        "link": link,
    }  # fmt: skip


def _link(row: InboxRow, recipient: str, base: str | None, signed: SignedPath | None) -> str | None:
    """A signed link names whom it is for, so it goes to a person or role alone."""
    if base is None:
        return None
    named = row.kind == "review" and recipient != EVERYBODY
    path = signed(row.subject, recipient) if named and signed is not None else None
    return base.rstrip("/") + (path or _place(row))


def _place(row: InboxRow) -> str:
    return f"/reviews/{row.subject}" if row.kind == "review" else f"/runs/{row.run_id}"
