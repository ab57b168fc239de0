"""What needs a person, read from four sources by index and merged in the order of their deadlines."""

import json
from collections.abc import Collection, Iterator
from functools import cache

from counterfoil.model.inbox import InboxFilter
from counterfoil.store.inbox import NONE_YET, InboxCount, InboxRow
from counterfoil.store.queries import sql
from counterfoil.store.questions import Questions

_EVERYTHING = (1 << 63) - 1
LETTERS = 40  # more than an id's last character can be
SOURCES = ("inbox_reviews", "inbox_parked", "inbox_incidents", "inbox_overdue")

# By what is asked. Only these are put together: a join whose columns nobody looks at is left out by SQLite.
_WANTED = {
    "owner": "(owner = :owner OR escalated_to = :owner)",
    "workflow": "workflow = :workflow",
    "receiver": "receiver = :receiver",
    "roles": """(taken_by IN (SELECT value FROM json_each(:roles)) OR (taken_by IS NULL AND (
    role IN (SELECT value FROM json_each(:roles)) OR owner IN (SELECT value FROM json_each(:roles))
    OR escalated_to IN (SELECT value FROM json_each(:roles)))))""",
    "text": """instr(lower(
    'run-' || run_number || ' ' || coalesce('op-' || operation_number || ' ' || operation || ' ', '') || workflow || ' '
    || request_id || ' ' || coalesce(target, '') || ' ' || coalesce(business_key, '') || ' '
    || CASE kind WHEN 'review' THEN 'rev-' WHEN 'incident' THEN 'inc-' ELSE 'run-' END || number), lower(:text)) > 0""",
    "reason": "reason = :reason",
}
_EVERY = frozenset(_WANTED)


class SqlInbox:
    """See `store.inbox.InboxReader`."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

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
        asked = _asked(wanted, roles, now) | {"deadline": after[0], "subject": after[1], "limit": limit}
        found: list[InboxRow] = []
        for source in _sources(wanted):
            found += [
                InboxRow(*values)
                for values in self._questions.run(page_of(source, _named(asked), snoozed=wanted.snoozed), asked)
            ]
        found.sort(key=lambda row: row.key)
        return found[:limit]

    def one(self, subject: str, deadline_at: int, now: int) -> InboxRow | None:
        """Found by its place in the order: what differs in the last letter of an id at most is passed over."""
        near = self.page(InboxFilter(snoozed=True), None, now, after=(deadline_at, subject[:-1]), limit=LETTERS)
        return next((row for row in near if row.subject == subject), None)

    def all(self, wanted: InboxFilter, roles: Collection[str] | None, now: int) -> Iterator[InboxRow]:
        """Everything that fits, in order."""
        after = NONE_YET
        while rows := self.page(wanted, roles, now, after=after, limit=500):
            yield from rows
            after = rows[-1].key

    def counts(self, wanted: InboxFilter, roles: Collection[str] | None, now: int) -> list[InboxCount]:
        """By reason, the most frequent first; a reason that is asked for does not narrow them."""
        asked = _asked(wanted, roles, now)
        found = [
            InboxCount(*row)
            for source in SOURCES
            for row in self._questions.run(counts_of(source, _named(asked) - {"reason"}), asked)
        ]
        reasons: dict[str, InboxCount] = {}
        for each in found:  # a reason may come from two sources: parked, and not yet parked
            known = reasons.get(each.reason, InboxCount(each.reason, 0, 0, 0))
            reasons[each.reason] = InboxCount(
                each.reason, known.waiting + each.waiting, known.overdue + each.overdue, known.snoozed + each.snoozed
            )
        return sorted(reasons.values(), key=lambda each: (-each.waiting, each.reason))


def _asked(wanted: InboxFilter, roles: Collection[str] | None, now: int) -> dict[str, str | int | None]:
    return {
        "owner": wanted.owner, "workflow": wanted.workflow, "receiver": wanted.receiver, "reason": wanted.reason,
        "text": wanted.text, "roles": None if roles is None else json.dumps(sorted(roles)), "now": now,
    }  # fmt: skip


def _sources(wanted: InboxFilter) -> tuple[str, ...]:
    """Where a reason can be found; the others need not be asked."""
    match wanted.reason:
        case "review" | "renewal":
            return ("inbox_reviews",)
        case "incident":
            return ("inbox_incidents",)
        case None:
            return SOURCES
        case _:
            return ("inbox_parked", "inbox_overdue")


def _named(asked: dict[str, str | int | None]) -> frozenset[str]:
    return frozenset(name for name in _WANTED if asked[name] is not None)


@cache
def page_of(source: str, asked: frozenset[str] = _EVERY, *, snoozed: bool = False) -> str:
    """The statement of a page of one source, narrowed by what is asked."""
    terms = ["(deadline_at, subject) > (:deadline, :subject)", *_terms(asked)]
    terms += [] if snoozed else ["snoozed_until IS NULL"]
    return (
        f"SELECT * FROM ({sql(source)}) AS waits WHERE {' AND '.join(terms)} "  # noqa: S608 - our own text, never input
        "ORDER BY deadline_at, subject LIMIT :limit"
    )


@cache
def counts_of(source: str, asked: frozenset[str] = _EVERY) -> str:
    """The statement of the counts of one source, narrowed by what is asked.

    Counted is a list of its own, kept apart by its LIMIT: SQLite leaves out joins that nobody looks at from a list, not from a count.
    """
    narrowed = " AND ".join(["TRUE", *_terms(asked)])
    return (
        "SELECT reason, count(*) - count(snoozed_until), "  # noqa: S608 - our own text, never input
        "count(CASE WHEN deadline_at <= :now AND snoozed_until IS NULL THEN 1 END), count(snoozed_until) FROM "
        f"(SELECT reason, deadline_at, snoozed_until FROM ({sql(source)}) AS waits WHERE {narrowed} LIMIT {_EVERYTHING}) "
        "AS counted GROUP BY reason"
    )


def _terms(asked: frozenset[str]) -> list[str]:
    return [term for name, term in _WANTED.items() if name in asked]
