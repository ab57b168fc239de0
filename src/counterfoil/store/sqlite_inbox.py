"""What needs a person, read from four sources by index and merged in the order of their deadlines."""

import json
from collections.abc import Collection, Iterator

from counterfoil.model.inbox import InboxFilter
from counterfoil.store.driver import Connection
from counterfoil.store.inbox import NONE_YET, InboxCount, InboxRow
from counterfoil.store.queries import sql

LETTERS = 40  # more than an id's last character can be
SOURCES = ("inbox_reviews", "inbox_parked", "inbox_incidents", "inbox_overdue")

# A source's columns are looked at lazily: what is not asked for costs nothing.
_WANTED = """(:owner IS NULL OR owner = :owner OR escalated_to = :owner)
  AND (:workflow IS NULL OR workflow = :workflow)
  AND (:receiver IS NULL OR receiver = :receiver)
  AND (:roles IS NULL OR taken_by IN (SELECT value FROM json_each(:roles)) OR (taken_by IS NULL AND (
    role IN (SELECT value FROM json_each(:roles)) OR owner IN (SELECT value FROM json_each(:roles))
    OR escalated_to IN (SELECT value FROM json_each(:roles)))))
  AND (:text IS NULL OR instr(lower(
    'run-' || run_number || ' ' || coalesce('op-' || operation_number || ' ' || operation || ' ', '') || workflow || ' '
    || request_id || ' ' || coalesce(target, '') || ' ' || coalesce(business_key, '') || ' '
    || CASE kind WHEN 'review' THEN 'rev-' WHEN 'incident' THEN 'inc-' ELSE 'run-' END || number), lower(:text)) > 0)"""


class SqliteInbox:
    """See `store.inbox.InboxReader`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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
        asked = _asked(wanted, roles, now) | {
            "deadline": after[0], "subject": after[1], "limit": limit, "snoozed": wanted.snoozed,
        }  # fmt: skip
        found: list[InboxRow] = []
        for source in _sources(wanted):
            found += [InboxRow(*values) for values in self._connection.execute(PAGES[source], asked)]
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
        found = [InboxCount(*row) for source in SOURCES for row in self._connection.execute(COUNTS[source], asked)]
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


def _page(source: str) -> str:
    return (
        f"SELECT * FROM ({sql(source)}) WHERE (deadline_at, subject) > (:deadline, :subject) AND {_WANTED} "  # noqa: S608
        "AND (:reason IS NULL OR reason = :reason) AND (:snoozed OR snoozed_until IS NULL) "
        "ORDER BY deadline_at, subject LIMIT :limit"
    )


def _count(source: str) -> str:
    return (
        "SELECT reason, count(*) - count(snoozed_until), "  # noqa: S608
        "count(CASE WHEN deadline_at <= :now AND snoozed_until IS NULL THEN 1 END), count(snoozed_until) "
        f"FROM ({sql(source)}) WHERE {_WANTED} GROUP BY reason"
    )


PAGES = {source: _page(source) for source in SOURCES}
COUNTS = {source: _count(source) for source in SOURCES}
