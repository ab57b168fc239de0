"""The noun `inbox`: everything that needs a person, and what people do with it short of deciding it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from counterfoil.app.access.actor import Actor, proven
from counterfoil.app.inbox_bulk import Act, Selection, Verbs, carried_out, preview_view, selected
from counterfoil.app.inbox_place import Visible, cursor_of, everything, place_of, subject_of, until_of
from counterfoil.app.operations import Operations
from counterfoil.app.runs import Runs
from counterfoil.app.views.inbox import comment_view, counts_view, items_view
from counterfoil.app.views.shown import Shown
from counterfoil.engine.opened import Opened
from counterfoil.engine.tending import Comment, HandOver, LetGo, Snooze, Take, Tend
from counterfoil.model.access import GrantRecord
from counterfoil.model.errors import Refused
from counterfoil.model.inbox import CommentRecord, InboxFilter
from counterfoil.rules.permissions import standing_of
from counterfoil.store.inbox import InboxCount, InboxRow
from counterfoil.store.port import Reader

LONGEST_COMMENT = 10_000
ANY = InboxFilter()
Tending = Callable[[str, str, str], Tend]  # (run_id, subject, person)


class Inbox:
    """`app.inbox`. A thing is named by its id, a unique prefix, or `rev-N`, `run-N`, `inc-N`.

    `visible` leaves out what whoever asks may not see. Of the verbs, `by` is a signed-in Actor, or a name with its secret.
    """

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    # ------------------------------------------------------------------ looking

    def list(
        self, wanted: InboxFilter = ANY, *, cursor: str | None = None, limit: int = 50, visible: Visible = everything
    ) -> dict[str, Any]:
        """`{items: [ITEM], next_cursor}`, the earliest deadline first. Raises Refused(usage) for another cursor."""
        after = place_of(cursor)
        opened = self._opened()
        with opened.read() as reader:
            shown, roles = Shown.of(opened, reader), roles_asked(reader, wanted)
            found: list[InboxRow] = []
            while len(found) <= limit:
                rows = reader.inbox.page(wanted, roles, shown.now, after=after, limit=limit + 1)
                found += [row for row in rows if visible(row)]
                if len(rows) <= limit:
                    break
                after = rows[-1].key
            items = found[:limit]
            more = cursor_of(items[-1].key) if len(found) > limit else None
            return {"items": items_view(shown, items), "next_cursor": more}

    def counts(self, wanted: InboxFilter = ANY, *, visible: Visible = everything) -> dict[str, Any]:
        """`{total, overdue, snoozed, reasons: [{reason, count, overdue}]}`. The filter's reason does not narrow them."""
        opened = self._opened()
        with opened.read() as reader:
            now, roles = opened.clock.now_us(), roles_asked(reader, wanted)
            if visible is everything:
                return counts_view(reader.inbox.counts(wanted, roles, now))
            return counts_view(_counted(reader, wanted, roles, now, visible))

    def show(self, subject: str, *, visible: Visible = everything) -> dict[str, Any]:
        """ITEM and `said: [{comment_id, person, text, at}]`. Raises Refused(not_found), and (not_waiting) once it needs nobody."""
        opened = self._opened()
        with opened.read() as reader:
            found, _, deadline_at = subject_of(reader, subject)
            shown = Shown.of(opened, reader)
            row = reader.inbox.one(found, deadline_at, shown.now)
            if row is None:
                raise Refused("not_waiting", subject=subject)
            if not visible(row):
                raise Refused("not_found", what="thing in the inbox", id=subject)
            said = [comment_view(each) for each in reader.find(CommentRecord, "subject", found)]
            return items_view(shown, [row])[0] | {"said": said}

    # ------------------------------------------------------------------ tending

    async def take(self, subject: str, *, by: Actor | str, secret: str = "") -> dict[str, Any]:
        """Say: I work on this. ITEM with `said`. Raises Refused(taken, not_waiting, not_permitted)."""
        return await self._tend(subject, by, secret, Take)

    async def hand_over(self, subject: str, *, to: str, by: Actor | str, secret: str = "") -> dict[str, Any]:
        """Give it to a person or a role, whoever has it now. Raises Refused(unknown_owner) for somebody who is nobody."""
        return await self._tend(subject, by, secret, lambda run, it, who: HandOver(run, it, who, to))

    async def comment(self, subject: str, *, text: str, by: Actor | str, secret: str = "") -> dict[str, Any]:
        """Say something about it. Raises Refused(usage) for an empty or endless text."""
        if not text.strip() or len(text) > LONGEST_COMMENT:
            raise Refused("usage", problem=f"a comment has 1 to {LONGEST_COMMENT} characters")
        return await self._tend(subject, by, secret, lambda run, it, who: Comment(run, it, who, text))

    async def snooze(
        self, subject: str, *, until: str, reason: str, by: Actor | str, secret: str = ""
    ) -> dict[str, Any]:
        """Put it off. `until`: RFC 3339, or a time from now (30m, 4h, 1d), before its deadline. Raises Refused(snooze_too_long)."""
        if not reason.strip():
            raise Refused("usage", problem="putting something off names its reason")
        end = until_of(until, self._opened().clock.now_us())
        return await self._tend(subject, by, secret, lambda run, it, who: Snooze(run, it, who, end, reason))

    async def let_go(self, subject: str, *, by: Actor | str, secret: str = "", snooze: bool = False) -> dict[str, Any]:
        """Nobody works on it any more; with `snooze`: it is no longer put off. Raises Refused(not_tended)."""
        return await self._tend(subject, by, secret, lambda run, it, who: LetGo(run, it, who, snooze))

    async def _tend(self, subject: str, by: Actor | str, secret: str, verb: Tending) -> dict[str, Any]:
        with self._opened().read() as reader:
            person = proven(reader, by, secret)
        return await self._tended(subject, person, verb)

    async def _tended(self, subject: str, person: str, verb: Tending) -> dict[str, Any]:
        opened = self._opened()
        with opened.read() as reader:
            found, run_id, _ = subject_of(reader, subject)
        await opened.write(verb(run_id, found, person))
        return self.show(found)

    # ------------------------------------------------------------------ many at once

    def preview(self, act: Act, wanted: InboxFilter = ANY, *, visible: Visible = everything) -> dict[str, Any]:
        """`{act, count, left_out, digest, items: [ITEM]}`: what `carry_out` would act on; the first 50 of it.

        `act`: lookup, resume, cancel or hand-over. `left_out` counts what fits the filter and cannot be acted on so.
        """
        opened = self._opened()
        with opened.read() as reader:
            shown = Shown.of(opened, reader)
            return preview_view(shown, self._selected(reader, act, wanted, shown.now, visible))

    async def carry_out(  # noqa: PLR0913 - each by keyword, and each needed
        self,
        act: Act,
        wanted: InboxFilter = ANY,
        *,
        count: int,
        by: Actor | str,
        secret: str = "",
        digest: str | None = None,
        reason: str = "",
        to: str | None = None,
        visible: Visible = everything,
        verbs: Verbs | None = None,
    ) -> dict[str, Any]:
        """Each thing by its own verb. `{act, count, done: [{subject, state}], refused: [{subject, code, message}]}`.

        `count` and `digest` are those of the preview. Raises Refused(selection_changed) when other things fit by now.
        """
        if act == "hand-over" and not (to or "").strip():
            raise Refused("usage", problem="handing over names to whom")
        opened = self._opened()
        with opened.read() as reader:
            person = proven(reader, by, secret)
            selection = self._selected(reader, act, wanted, opened.clock.now_us(), visible)
        selection.check(count, digest)
        own = self._verbs(by if isinstance(by, Actor) else person, person)
        return await carried_out(selection, verbs or own, reason, to)

    def _selected(self, reader: Reader, act: Act, wanted: InboxFilter, now: int, visible: Visible) -> Selection:
        rows = reader.inbox.all(wanted, roles_asked(reader, wanted), now)
        return selected(act, (row for row in rows if visible(row)))

    def _verbs(self, by: Actor | str, person: str) -> Verbs:
        """In the name of somebody who has shown who that is."""
        runs, operations = Runs(self._opened), Operations(self._opened)
        return Verbs(
            lookup=lambda operation: operations.lookup(operation, by=by),
            resume=lambda run: runs.resume(run, by=by),
            cancel=lambda run, reason: runs.cancel(run, by=by, reason=reason),
            hand_over=lambda subject, to: self._tended(
                subject, person, lambda run, it, who: HandOver(run, it, who, to)
            ),
        )


def roles_asked(reader: Reader, wanted: InboxFilter) -> frozenset[str] | None:
    """The roles of the person whose own things are asked for. Raises Refused(unknown_person)."""
    if wanted.mine is None:
        return None
    people = reader.lists.people()
    person = next((each for each in people if each.name == wanted.mine), None)
    if person is None:
        raise Refused("unknown_person", name=wanted.mine)
    return standing_of(person, people, list[GrantRecord]()).roles


def _counted(
    reader: Reader, wanted: InboxFilter, roles: frozenset[str] | None, now: int, visible: Visible
) -> list[InboxCount]:
    """Thing by thing, where not everything may be seen."""
    found: dict[str, InboxCount] = {}
    for row in reader.inbox.all(replace(wanted, reason=None, snoozed=True), roles, now):
        if visible(row):
            known = found.get(row.reason, InboxCount(row.reason, 0, 0, 0))
            off = row.snoozed_until is not None
            late = not off and row.deadline_at <= now
            found[row.reason] = InboxCount(
                row.reason, known.waiting + (not off), known.overdue + late, known.snoozed + off
            )
    return sorted(found.values(), key=lambda each: (-each.waiting, each.reason))
