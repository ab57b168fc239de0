"""What a list of things that need a person gives: rows in the order of their deadlines, and counts by reason."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from counterfoil.model.inbox import InboxFilter

NONE_YET = (-1, "")  # before every (deadline_at, subject)


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One thing that needs a person. `role` may move it besides its owner; `taken_by` and `snoozed_until` hold now."""

    kind: str
    subject: str
    number: int
    run_id: str
    operation_id: str | None
    reason: str
    role: str | None
    owner: str
    owner_then: str | None
    since_at: int
    deadline_at: int
    taken_by: str | None
    snoozed_until: int | None
    snooze_reason: str | None
    escalated_to: str | None
    comments: int
    run_number: int
    workflow: str
    request_id: str
    run_state: str
    operation_number: int | None
    operation: str | None
    operation_status: str | None
    receiver: str | None
    business_key: str | None
    target: str | None
    amount_minor: int | None
    currency: str | None

    @property
    def key(self) -> tuple[int, str]:
        """Its place in the order of the inbox."""
        return self.deadline_at, self.subject


def without_target(row: InboxRow, text: str) -> bool:
    """Whether the text of a filter stands in what is shown of the row to who may not read its target."""
    prefix = {"review": "rev", "incident": "inc"}.get(row.kind, "run")
    operation = "" if row.operation_number is None else f"op-{row.operation_number} {row.operation} "
    before = f"run-{row.run_number} {operation}{row.workflow} {row.request_id}"
    return any(text.lower() in part.lower() for part in (before, row.business_key or "", f"{prefix}-{row.number}"))


@dataclass(frozen=True, slots=True)
class InboxCount:
    """How many things wait for one reason: shown, of these past their deadline, and put off."""

    reason: str
    waiting: int
    overdue: int
    snoozed: int


class InboxReader(Protocol):
    """Over one snapshot. `roles` are those of the person whose own things are asked for, None for everybody's."""

    def page(
        self,
        wanted: InboxFilter,
        roles: Collection[str] | None,
        now: int,
        *,
        after: tuple[int, str] = NONE_YET,
        limit: int,
    ) -> list[InboxRow]:
        """The next `limit` things behind `after`, the earliest deadline first."""
        ...

    def one(self, subject: str, deadline_at: int, now: int) -> InboxRow | None:
        """One thing, put off or not; None where it needs nobody."""
        ...

    def all(self, wanted: InboxFilter, roles: Collection[str] | None, now: int) -> Iterator[InboxRow]:
        """Everything that fits, in order."""
        ...

    def counts(self, wanted: InboxFilter, roles: Collection[str] | None, now: int) -> list[InboxCount]:
        """By reason, the most frequent first; a reason that is asked for does not narrow them."""
        ...
