"""The inbox over HTTP: what needs a person, tending one thing, and moving many by filter."""

from typing import Annotated

from fastapi import Query, Request
from pydantic import Field
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.tending import CarriedOut, InboxCounts, InboxItem, InboxThing, Preview
from counterfoil.console.api.bodies import (
    CarryingOut,
    Commenting,
    HandingOver,
    InboxWanted,
    LettingGo,
    Previewing,
    Snoozing,
)
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.inbox import InboxFilter

router = router_of("inbox")


class InboxAsked(InboxWanted):
    """The filter, and which part of the list."""

    cursor: Annotated[str, Field(max_length=2000)] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


@router.get("/inbox", responses=gives(Answer[Page[InboxItem]]))
def list_inbox(at: AtDesk, asked: Annotated[InboxAsked, Query()]) -> Response:
    """List everything that needs a person, the earliest deadline first."""
    page = at.inbox.list(_filter(at, asked), cursor=opened("inbox", asked.cursor), limit=asked.limit)
    return answer("inbox list", opaque("inbox", page))


@router.get("/inbox/counts", responses=gives(Answer[InboxCounts]))
def count_inbox(at: AtDesk, mine: bool = False) -> Response:
    """Count what needs a person, by reason."""
    return answer("inbox counts", at.inbox.counts(_filter(at, InboxWanted(mine=mine))))


@router.post("/inbox/preview", responses=gives(Answer[Preview]))
def preview_act(at: AtDesk, body: Previewing) -> Response:
    """Look at what an act by filter would move. Nothing is moved."""
    return answer("inbox preview", at.inbox.preview(body.act, _filter(at, body.wanted)))


@router.post("/inbox/carry-out", responses=gives(Answer[CarriedOut]))
async def carry_out_act(request: Request, at: AtDesk, body: CarryingOut) -> Response:
    """Move many things by filter, each by its own verb. Refused when other things fit by now than the preview showed."""
    count_answer(request, at.actor)
    data = await at.inbox.carry_out(
        body.act, _filter(at, body.wanted), count=body.count, digest=body.digest, reason=body.reason, to=body.to
    )
    return answer("inbox carry-out", data)


@router.get("/inbox/{subject}", responses=gives(Answer[InboxThing]))
def show_thing(at: AtDesk, subject: Which) -> Response:
    """Show one thing that needs a person, with what was said about it."""
    return answer("inbox show", at.inbox.show(subject))


@router.post("/inbox/{subject}/take", responses=gives(Answer[InboxThing]))
async def take_thing(at: AtDesk, subject: Which) -> Response:
    """Say that you work on it."""
    return answer("inbox take", await at.inbox.take(subject))


@router.post("/inbox/{subject}/let-go", responses=gives(Answer[InboxThing]))
async def let_go_of_thing(at: AtDesk, subject: Which, body: LettingGo) -> Response:
    """Say that nobody works on it any more, or that it is no longer put off."""
    return answer("inbox let-go", await at.inbox.let_go(subject, snooze=body.snooze))


@router.post("/inbox/{subject}/hand-over", responses=gives(Answer[InboxThing]))
async def hand_over_thing(at: AtDesk, subject: Which, body: HandingOver) -> Response:
    """Give it to a person or a role, whoever has it now."""
    return answer("inbox hand-over", await at.inbox.hand_over(subject, to=body.to))


@router.post("/inbox/{subject}/comment", responses=gives(Answer[InboxThing]))
async def comment_on_thing(at: AtDesk, subject: Which, body: Commenting) -> Response:
    """Say something about it."""
    return answer("inbox comment", await at.inbox.comment(subject, text=body.text))


@router.post("/inbox/{subject}/snooze", responses=gives(Answer[InboxThing]))
async def snooze_thing(at: AtDesk, subject: Which, body: Snoozing) -> Response:
    """Put it off with a reason, until before its deadline."""
    return answer("inbox snooze", await at.inbox.snooze(subject, until=body.until, reason=body.reason))


def _filter(at: Desk, wanted: InboxWanted) -> InboxFilter:
    return InboxFilter(
        owner=wanted.owner, workflow=wanted.workflow, receiver=wanted.receiver, reason=wanted.reason, text=wanted.text,
        mine=at.actor.person if wanted.mine else None, snoozed=wanted.snoozed,
    )  # fmt: skip
