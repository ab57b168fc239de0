"""Google Calendar: an event under an id that we choose. The id is our key, and the event itself is read by it.

    app.receiver("calendar", url="https://www.googleapis.com", credential=Bearer(Env("CALENDAR_TOKEN")), environment="live")
    insert = google_calendar.insert(app, receiver="calendar", owner="support")

Google does not promise to notice two inserts with one id at almost the same time, so in doubt the event is read, never sent again.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Unpack
from urllib.parse import quote

from pydantic import AwareDatetime, BaseModel, Field

from counterfoil.connectors.connector import NO_WINDOW, Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "google_calendar_insert"
ABSENT = 404


class Event(BaseModel):
    """`number`: yours. `calendar`: its id, such as an address or `primary`. `start`, `end`: instants, with their offset."""

    number: str
    calendar: Annotated[str, Target(), Field(pattern=r"^[^/\s]+$")]
    summary: Annotated[str, Field(pattern=r"^[^\r\n]+$")]
    start: AwareDatetime
    end: AwareDatetime
    text: str = ""


class EventReceipt(Receipt):
    """`reference`: the event's id, which is our key. `url`: where a person sees it."""

    url: str | None = None


def insert(
    app: Declares,
    *,
    receiver: str = "calendar",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Event, EventReceipt]:
    """`events.insert`. `overrides`: what your account knows better than the catalogue, by attribute."""
    return declared(app, calendar_insert, insert_contract(overrides), receiver, **governed)


def insert_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `insert`: a 409 fits no rule, so whether the event is ours is asked."""
    known = {**NO_WINDOW, **(overrides or {})}
    return contract_of(ENTRY, action="events.insert", find=find_event, overrides=known)


async def calendar_insert(call: Call, event: Event) -> EventReceipt:
    """One event; the contract puts our key where its id is chosen. Nobody is invited."""
    given: dict[str, Any] = {
        "summary": event.summary,
        "start": {"dateTime": event.start.isoformat()},
        "end": {"dateTime": event.end.isoformat()},
        **({"description": event.text} if event.text else {}),
    }
    return _receipt((await call.http.post(_events(event), json=given)).json())


async def find_event(ask: Ask, event: Event) -> Seen[EventReceipt]:
    """The event of this id; summary and times are compared. One that was deleted since is still shown, as cancelled."""
    reply = await ask.http.get(f"{_events(event)}/{ask.key}")
    if reply.status == ABSENT:
        return Seen([], complete=True)
    shown = reply.json()
    held = {
        "summary": shown.get("summary"),
        **{name: _same(shown[name], getattr(event, name)) for name in ("start", "end")},
    }
    return Seen([Found(_receipt(shown), payload=event.model_copy(update=held))], complete=True)


def _events(event: Event) -> str:
    return f"/calendar/v3/calendars/{quote(event.calendar, safe='')}/events"


def _same(shown: Mapping[str, Any], wanted: datetime) -> datetime:
    """Google shows an instant with the calendar's own offset: the same instant is the same time."""
    at = datetime.fromisoformat(shown["dateTime"])
    return wanted if at == wanted else at


def _receipt(shown: Mapping[str, Any]) -> EventReceipt:
    return EventReceipt(reference=shown["id"], url=shown.get("htmlLink"))
