"""Sending notices. At least once: a crash between the send and its record sends again, under the same id."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from counterfoil.app.notices.addresses import WebhookAddress, value_of
from counterfoil.app.notices.apart import Apart
from counterfoil.engine.definitions import Env
from counterfoil.engine.failures import said
from counterfoil.model.duty import NoticeRecord
from counterfoil.model.errors import Refused
from counterfoil.model.moments import rfc3339

if TYPE_CHECKING:
    import httpx2

SECOND_US = 1_000_000
TIMEOUT_S = 15.0
# Pauses after the first failed try and each next one; then it is given up and stays visible with its problem.
PAUSES_US = tuple(seconds * SECOND_US for seconds in (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400))
LISTED = 20  # things named in one message to a person; the rest is counted
GONE = 410  # the receiver of a webhook wants no more of this


def tried(notice: NoticeRecord, now: int, problem: str | None, *, gone: bool = False) -> NoticeRecord:
    """The notice after one more try."""
    tries = notice.tries + 1
    if problem is None:
        return replace(notice, tries=tries, sent_at=now, next_try_at=None, problem=None)
    again = None if gone or tries > len(PAUSES_US) else now + PAUSES_US[tries - 1]
    return replace(notice, tries=tries, next_try_at=again, problem=problem)


# ---------------------------------------------------------------------- people


def message_of(notices: Sequence[NoticeRecord], installation: str) -> tuple[str, str]:
    """Title and text of one message about one or more notices to one recipient."""
    bodies = [(notice.what, json.loads(notice.body)) for notice in notices]
    if len(bodies) == 1:
        what, body = bodies[0]
        return f"{installation}: {_WORDS[what]}: {_name(body)}", "\n".join(_lines(body))
    title = f"{installation}: {len(bodies)} things need somebody"
    shown = [f"- {_WORDS[what]}: {_name(body)}: {body['sentence']} {_until(body)}" for what, body in bodies[:LISTED]]
    if len(bodies) > LISTED:
        shown.append(f"- and {len(bodies) - LISTED} more")
    link = bodies[0][1]["link"]
    return title, "\n".join([*shown, *([link.rpartition("/")[0].rpartition("/")[0] + "/inbox"] if link else [])])


_WORDS = {
    "entered": "waits",
    "near": "nearly over",
    "overdue": "overdue",
    "escalated": "escalated to you",
    "left": "done",
}


def _name(body: Mapping[str, Any]) -> str:
    short = {"review": "rev", "run": "run", "incident": "inc"}[body["kind"]]
    return f"{short}-{body['number']} ({body['workflow']})"


def _until(body: Mapping[str, Any]) -> str:
    return f"Until {body['deadline_at']}." if body["deadline_at"] else ""


def _lines(body: Mapping[str, Any]) -> list[str]:
    lines = [body["sentence"], f"Owner: {body['owner']}. {_until(body)}"]
    return [*lines, *([body["link"]] if body["link"] else [])]


async def tell_people(
    apart: Apart,
    notices: Sequence[NoticeRecord],
    urls: Sequence[str | Env],
    environ: Mapping[str, str],
    installation: str,
) -> str | None:
    """One message to one recipient, over all its addresses. None when each took it, else the problem, without the address."""
    try:
        places = [value_of(url, environ) for url in urls]
    except Refused as refused:
        return refused.message
    title, text = message_of(notices, installation)
    try:
        return await apart.carry(notices[0].recipient, lambda: _apprise(places, title, text))
    except Exception as problem:  # of somebody's plugin: what it says may hold the address
        return type(problem).__name__


def _apprise(places: Sequence[str], title: str, text: str) -> str | None:
    import apprise

    failed: list[str] = []
    for place in places:
        sender: Any = apprise.Apprise()
        scheme = place.partition(":")[0]  # the rest of an address may hold a password
        if not sender.add(place):
            failed.append(f"{scheme}: this is no address that Apprise knows")
        elif not sender.notify(title=title, body=text):
            failed.append(f"{scheme}: it was not taken")
    return "; ".join(failed) or None


# ---------------------------------------------------------------------- other systems


@dataclass(frozen=True, slots=True)
class Told:
    """What a POST came to. `problem` None: taken. `gone`: it wants no more of this. `answered`: the other side said something."""

    problem: str | None
    gone: bool = False
    answered: bool = True


async def tell_webhook(notice: NoticeRecord, address: WebhookAddress, environ: Mapping[str, str], now: int) -> Told:
    """One signed POST (Standard Webhooks)."""
    from standardwebhooks.webhooks import Webhook

    data = json.loads(notice.body)
    text = json.dumps(
        {"type": f"inbox.{notice.what}", "timestamp": rfc3339(notice.made_at), "data": data}, separators=(",", ":")
    )
    try:
        url, secret = value_of(address.url, environ), value_of(address.secret, environ)
        signature = Webhook(secret).sign(notice.notice_id, datetime.fromtimestamp(now / SECOND_US, UTC), text)
    except Exception as problem:
        return Told(said(problem))
    headers = {
        "content-type": "application/json", "webhook-id": notice.notice_id, "webhook-timestamp": str(now // SECOND_US),
        "webhook-signature": signature,
    }  # fmt: skip
    try:
        # Its status is all that counts: a body is not read, however long it is.
        async with (
            asyncio.timeout(TIMEOUT_S),
            _client() as client,
            client.stream("POST", url, content=text.encode(), headers=headers) as reply,
        ):
            status, taken = reply.status_code, reply.is_success
    except Exception as problem:  # also an address that is none; its text may hold the address
        return Told(type(problem).__name__, answered=False)
    return Told(None if taken else f"it answered {status}", gone=status == GONE)


def _client() -> "httpx2.AsyncClient":
    import httpx2

    return httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False, follow_redirects=False)
