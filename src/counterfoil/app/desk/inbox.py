"""`desk.inbox`."""

from dataclasses import replace
from typing import Any

from counterfoil.app.desk.operations import DeskOperations
from counterfoil.app.desk.runs import DeskRuns
from counterfoil.app.desk.sight import EVERYWHERE, Look, Sight
from counterfoil.app.desk.withheld import without
from counterfoil.app.inbox import ANY
from counterfoil.app.inbox_bulk import Act, Verbs
from counterfoil.app.inbox_place import Visible, everything
from counterfoil.model.access import Act as Permitted
from counterfoil.model.access import RecordKind
from counterfoil.model.errors import Refused
from counterfoil.model.inbox import InboxFilter
from counterfoil.rules.permissions import Wish, visible
from counterfoil.store.inbox import InboxRow, without_target

_ITEM = {"target": RecordKind.PAYLOADS, "amount": RecordKind.PAYLOADS}


class DeskInbox:
    """As `app.inbox`, over what the person may see; it acts in the person's name, within the token's scope."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.inbox
        self._runs = DeskRuns(sight)
        self._operations = DeskOperations(sight)

    def list(self, wanted: InboxFilter = ANY, *, cursor: str | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [ITEM], next_cursor}`, the earliest deadline first."""
        with self._sight.look() as look:
            page = self._noun.list(wanted, cursor=cursor, limit=limit, visible=_seen(look, wanted))
            return page | {"items": [_withheld(look, item) for item in page["items"]]}

    def counts(self, wanted: InboxFilter = ANY) -> dict[str, Any]:
        """`{total, overdue, snoozed, reasons: [{reason, count, overdue}]}`."""
        with self._sight.look() as look:
            return self._noun.counts(wanted, visible=_seen(look, wanted))

    def show(self, subject: str) -> dict[str, Any]:
        """ITEM and `said`."""
        with self._sight.look() as look:
            return _withheld(look, self._found(look, subject))

    async def take(self, subject: str) -> dict[str, Any]:
        """Say: I work on this."""
        return self._shown(await self._noun.take(self._tendable(subject), by=self._sight.actor))

    async def hand_over(self, subject: str, *, to: str) -> dict[str, Any]:
        """Give it to a person or a role."""
        return self._shown(await self._noun.hand_over(self._tendable(subject), to=to, by=self._sight.actor))

    async def comment(self, subject: str, *, text: str) -> dict[str, Any]:
        """Say something about it."""
        return self._shown(await self._noun.comment(self._tendable(subject), text=text, by=self._sight.actor))

    async def snooze(self, subject: str, *, until: str, reason: str) -> dict[str, Any]:
        """Put it off, until its deadline at the latest."""
        actor = self._sight.actor
        return self._shown(await self._noun.snooze(self._tendable(subject), until=until, reason=reason, by=actor))

    async def let_go(self, subject: str, *, snooze: bool = False) -> dict[str, Any]:
        """Nobody works on it any more; with `snooze`: it is no longer put off."""
        return self._shown(await self._noun.let_go(self._tendable(subject), by=self._sight.actor, snooze=snooze))

    def preview(self, act: Act, wanted: InboxFilter = ANY) -> dict[str, Any]:
        """`{act, count, left_out, digest, items}`: what `carry_out` would act on."""
        with self._sight.look() as look:
            found = self._noun.preview(act, wanted, visible=_seen(look, wanted))
            return found | {"items": [_withheld(look, item) for item in found["items"]]}

    async def carry_out(
        self,
        act: Act,
        wanted: InboxFilter = ANY,
        *,
        count: int,
        digest: str | None = None,
        reason: str = "",
        to: str | None = None,
    ) -> dict[str, Any]:
        """Each thing by its own verb, as this desk does it. `{act, count, done, refused}`."""
        with self._sight.look() as look:
            may_see = _seen(look, wanted)
        verbs = Verbs(
            lookup=self._operations.lookup,
            resume=self._runs.resume,
            cancel=lambda run, why: self._runs.cancel(run, reason=why),
            hand_over=lambda subject, to: self.hand_over(subject, to=to),
        )
        return await self._noun.carry_out(
            act, wanted, count=count, digest=digest, reason=reason, to=to, by=self._sight.actor, visible=may_see,
            verbs=verbs,
        )  # fmt: skip

    def _tendable(self, subject: str) -> str:
        """Its id. Raises Refused(not_found) for what is not seen, Refused(not_permitted) where the person may not tend it."""
        with self._sight.look() as look:
            item = self._found(look, subject)
            look.must(_wish(Permitted.TEND, item))
        return item["subject"]

    def _found(self, look: Look, text: str) -> dict[str, Any]:
        """ITEM of what was typed, among what is seen: of anything else not even that it is over, or one of several, is told."""
        seen = _named(look, text)
        try:
            return self._noun.show(seen or text, visible=_seen(look))
        except Refused:
            if seen is not None:
                raise
            raise Refused("not_found", what="thing in the inbox", id=text) from None

    def _shown(self, item: dict[str, Any]) -> dict[str, Any]:
        with self._sight.look() as look:
            return _withheld(look, item)


def _named(look: Look, text: str) -> str | None:
    """The id of the one review, run or incident that is seen and meant. Raises Refused(ambiguous_id)."""
    found: set[str] = set()
    for find in (
        lambda: look.review(text)[0].review_id,
        lambda: look.run(text).run_id,
        lambda: look.incident(text)[0].incident_id,
    ):
        try:
            found.add(find())
        except Refused as refused:
            if refused.code != "not_found":
                raise
    if len(found) > 1:
        raise Refused("ambiguous_id", what="thing in the inbox", id=text)
    return next(iter(found), None)


def _seen(look: Look, wanted: InboxFilter = ANY) -> Visible:
    """What is seen of the operation or its run, and what asks a role of the person.

    A text that stands in a target alone finds it only for who may read it: else it could be guessed letter by letter.
    """
    text = wanted.text or ""
    if text and not look.may(Wish(Permitted.READ, kind=RecordKind.PAYLOADS)):
        return lambda row: _sees(look, row) and (without_target(row, text) or _reads_target(look, row))
    if EVERYWHERE in look.places:
        return everything
    return lambda row: _sees(look, row)


def _sees(look: Look, row: InboxRow) -> bool:
    return visible(look.places, row.workflow, row.operation) or look.may(_row_wish(row))


def _reads_target(look: Look, row: InboxRow) -> bool:
    return look.may(replace(_row_wish(row), kind=RecordKind.PAYLOADS))


def _row_wish(row: InboxRow) -> Wish:
    named = frozenset(name for name in (row.role, row.owner, row.owner_then) if name)
    return Wish(Permitted.READ, row.workflow, row.operation, roles=named)


def _withheld(look: Look, item: dict[str, Any]) -> dict[str, Any]:
    return without(item, _ITEM, lambda kind: look.may(_wish(Permitted.READ, item, kind)))


def _wish(act: Permitted, item: dict[str, Any], kind: RecordKind | None = None) -> Wish:
    named = frozenset(item[name] for name in ("role", "owner", "owner_then") if item[name])
    return Wish(act, item["workflow"], item["operation"], kind, roles=named)
