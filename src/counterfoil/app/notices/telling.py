"""Duty: find what needs somebody and was not told, escalate what its owner left lying, and send."""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from counterfoil import settings
from counterfoil.app.links import notice_paths
from counterfoil.app.notices.addresses import Addresses
from counterfoil.app.notices.making import NEAR_US, notices_about, over
from counterfoil.app.notices.noun import Notices
from counterfoil.app.notices.sending import Told, tell_people, tell_webhook, tried
from counterfoil.engine.duties import KeepNotices
from counterfoil.engine.escalation import Escalate
from counterfoil.engine.opened import Opened
from counterfoil.model.duty import DutyRecord, NoticeRecord
from counterfoil.model.inbox import InboxFilter
from counterfoil.store.inbox import InboxRow

if TYPE_CHECKING:
    from counterfoil.app.application import App

KEPT_US = 30 * 24 * NEAR_US
AT_ONCE = 1000
BESIDE_EACH_OTHER = 8


async def tell(app: "App", duty: DutyRecord) -> None:
    """Escalation goes on also where nobody has an address: the console and the inbox show it."""
    opened = app.open()
    waiting = await asyncio.to_thread(_waiting, opened)
    waiting = [await _escalated(opened, row) for row in waiting]
    addresses = app.notices.addresses
    if addresses.empty:
        return
    made = _made(opened, waiting, addresses, settings.value_of("COUNTERFOIL_CONSOLE_URL") or None)
    for start in range(0, len(made), AT_ONCE):
        await opened.write(KeepNotices(duty.name, tuple(made[start : start + AT_ONCE])))
    await _send(opened, app.notices, duty.name)


def _waiting(opened: Opened) -> list[InboxRow]:
    """What was told to nobody yet, what is nearly over or over, and what its owner left lying."""
    now = opened.clock.now_us()
    with opened.read() as reader:
        new = reader.upkeep.unnoticed(AT_ONCE)
        found: list[InboxRow] = []
        for row in reader.inbox.all(InboxFilter(snoozed=True), None, now):
            if row.subject in new or row.deadline_at <= now + NEAR_US or _left_lying(opened, row, now) is not None:
                found.append(row)
        return found


def _left_lying(opened: Opened, row: InboxRow, now: int) -> str | None:
    """The second owner, who does not know yet, once the first one's time is over."""
    if row.escalated_to is not None:
        return None
    after = _second_owner(opened, row)
    return after[0] if after is not None and row.since_at + after[1] <= now else None


def _second_owner(opened: Opened, row: InboxRow) -> tuple[str, int] | None:
    """Who hears of it next, and how long after it began to wait. A parked run goes to its next owner by its own deadline."""
    known = opened.registry.operations.get(row.operation or "")
    then, within = row.owner_then, row.deadline_at - row.since_at
    if row.kind == "review" and known is not None and (facts := known.review_facts()) is not None:
        within = facts["owner"]["within_us"]
    elif row.kind == "incident" and known is not None:
        owner = known.doubt_owner()
        then, within = owner.then or then, owner.within // timedelta(microseconds=1)
    return None if then is None or row.kind == "run" else (then, within)


async def _escalated(opened: Opened, row: InboxRow) -> InboxRow:
    second = _left_lying(opened, row, opened.clock.now_us())
    if second is None:
        return row
    await opened.write(Escalate(row.run_id, row.subject, row.since_at, second))
    return replace(row, escalated_to=second, taken_by=None)


def _made(opened: Opened, waiting: list[InboxRow], addresses: Addresses, link: str | None) -> list[NoticeRecord]:
    now = opened.clock.now_us()
    made: list[NoticeRecord] = []
    with opened.read() as reader:
        signed = None if link is None else notice_paths(opened, reader)
        for row in waiting:
            known = reader.find(NoticeRecord, "subject", row.subject)
            ids = {notice.notice_id for notice in known}
            made += [n for n in notices_about(row, known, addresses, now, link, signed) if n.notice_id not in ids]
        made += [over(notice, now) for notice in reader.upkeep.told_and_over(now - KEPT_US, AT_ONCE)]
    return made


async def _send(opened: Opened, notices: Notices, duty: str) -> None:
    with opened.read() as reader:
        due = reader.upkeep.unsent_notices(opened.clock.now_us(), AT_ONCE)
        installation = reader.installation.name if reader.installation else ""
    people = sorted((n for n in due if n.channel == "apprise"), key=lambda n: (n.recipient, n.made_at, n.notice_id))
    systems = sorted(
        (n for n in due if n.channel == "webhook"), key=lambda n: n.recipient
    )  # each in the order of its time
    sending = _Sending(opened, notices, duty, installation)
    parts = [sending.person(name, list(found)) for name, found in groupby(people, key=lambda n: n.recipient)]
    parts += [sending.system(name, list(found)) for name, found in groupby(systems, key=lambda n: n.recipient)]
    problems = [each for each in await asyncio.gather(*parts, return_exceptions=True) if each is not None]
    if problems:
        raise problems[0]  # when all others are told: nobody's trouble is another's


@dataclass(frozen=True, slots=True)
class _Sending:
    """To one recipient at a time what is due. Each has a lane of its own, so that one who never answers holds up no other."""

    opened: Opened
    notices: Notices
    duty: str
    installation: str

    async def person(self, name: str, due: list[NoticeRecord]) -> None:
        urls = self.notices.addresses.people.get(name)
        if urls is None:
            problem = "nobody has this name any more"
        else:
            problem = await tell_people(self.notices.apart, due, urls, self.opened.environ, self.installation)
        after = self.opened.clock.now_us()
        await self.opened.write(KeepNotices(self.duty, tuple(tried(notice, after, problem) for notice in due)))

    async def system(self, name: str, due: list[NoticeRecord]) -> None:
        """So many beside each other. One that gives no answer gets no more in this round: what is left stays due."""
        for start in range(0, len(due), BESIDE_EACH_OTHER):
            answered = await asyncio.gather(*(self._posted(n) for n in due[start : start + BESIDE_EACH_OTHER]))
            if not all(answered):
                return

    async def _posted(self, notice: NoticeRecord) -> bool:
        """One POST and its record. False when the other side gave no answer."""
        address = self.notices.addresses.webhooks.get(notice.recipient)
        if address is None:
            told = Told("there is no such webhook any more", gone=True)
        else:
            told = await tell_webhook(notice, address, self.opened.environ, self.opened.clock.now_us())
        after = self.opened.clock.now_us()
        await self.opened.write(KeepNotices(self.duty, (tried(notice, after, told.problem, gone=told.gone),)))
        return told.answered
