"""Google Calendar's connector at our sandbox, which speaks as the Calendar API does."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from counterfoil.connectors import google_calendar
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    as_usual,
    killed_after_acceptance,
    late_arrival,
    late_lookup,
    reply_lost,
)
from counterfoil.connectors.serving import SandboxServed
from counterfoil.connectors.serving_application import BUDGET, application, environ
from counterfoil.engine.port import Run
from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.loopback.exchange import Reply, Request

app = application("calendar")
insert = google_calendar.insert(app, receiver="calendar", owner="support")


@app.workflow(version=1, budget=BUDGET)
async def invite(run: Run, asked: google_calendar.Event) -> google_calendar.EventReceipt:
    """One event."""
    return await run.perform(insert, asked)


class Events:
    """An event is read at its id, with times as the calendar shows them."""

    def asked(self, request: Request) -> Request | Reply:
        """`GET .../events/ID` asks for what was made under a key."""
        if request.is_write:
            return request
        above, _, own = request.path.rpartition("/")
        return replace(request, path=above, query={"key": own, "limit": "1"})

    def told(self, request: Request, reply: Reply) -> Reply:
        """The event, or that there is none; of a conflict only words."""
        shown = as_object(reply.body)
        if request.is_write:
            taken = {"error": {"code": 409, "message": "The requested identifier already exists."}}
            return Reply(409, taken) if reply.status == 409 else Reply(reply.status, shown)
        if reply.status != 200:
            return reply
        found = as_objects(shown.get("data"))
        return (
            Reply(200, _as_shown(found[0])) if found else Reply(404, {"error": {"code": 404, "message": "Not Found"}})
        )


class Calendar(SandboxServed):
    """Each case makes an event of its own. An id is known for as long as its event."""

    def __init__(self, folder: Path) -> None:
        kept = {"replay": "conflicts", "key_window_seconds": None, "replay_marker": False}
        super().__init__(folder, google_calendar.insert_contract(), dialect=Events(), kept=kept)
        self.environ = environ("calendar", self.url)

    def prepare(self, number: str) -> dict[str, Any]:
        """Its summary is its number."""
        self.disarm()
        return {
            "number": number,
            "calendar": "desk@shop.example",
            "summary": number,
            "start": "2026-12-01T10:00:00+01:00",
            "end": "2026-12-01T10:30:00+01:00",
        }

    def records(self, payload: Mapping[str, Any]) -> int:
        """The events of its summary."""
        return sum(1 for each in self.held() if each["summary"] == payload["summary"])


def _as_shown(event: Mapping[str, object]) -> dict[str, object]:
    """The same instants, with the offset of the calendar."""
    moved = {"T10:00:00+01:00": "T09:00:00Z", "T10:30:00+01:00": "T09:30:00Z"}
    times = {name: str(as_object(event[name])["dateTime"]) for name in ("start", "end")}
    return {**event, **{name: {"dateTime": at[:10] + moved[at[10:]]} for name, at in times.items()}}


DRILLS = [
    Drill(
        connector="google_calendar.insert",
        entries=[google_calendar.ENTRY],
        app=app,
        workflow=invite,
        server="the sandbox, speaking as Google Calendar",
        server_kind="sandbox",
        start=Calendar,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("late-arrival", "succeeded", late_arrival, attempts=1),
            Case("late-lookup", "succeeded", late_lookup, attempts=1),
        ],
    )
]
