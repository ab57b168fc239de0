"""Who asks: a personal token, the session's cookie, or on loopback the chosen person. The dependencies of every route."""

from typing import Annotated

from fastapi import Depends, Request

from counterfoil.app.access import Actor
from counterfoil.app.desk import Desk
from counterfoil.console.cookies import session_value
from counterfoil.console.state import console_of
from counterfoil.model.errors import Refused


async def actor(request: Request) -> Actor:
    """Who is signed in. Raises Refused(not_signed_in, token_invalid, session_over)."""
    console = console_of(request)
    access = console.app.access
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return access.by_token(token.strip())
    session = session_value(request)
    if session:
        return await access.by_session(session)
    if console.development and console.person is not None:
        return access.in_development(console.person)
    raise Refused("not_signed_in")


async def desk(request: Request) -> Desk:
    """The nouns as the signed-in person sees them; kept for this request as `request.state.desk`. Raises as `actor`."""
    request.state.desk = at = console_of(request).app.desk(await actor(request))
    return at


SignedIn = Annotated[Actor, Depends(actor)]
AtDesk = Annotated[Desk, Depends(desk)]


def count_answer(request: Request, who: Actor) -> None:
    """One more answer of this person, from this address. Raises Refused(too_many)."""
    console_of(request).limits.answer(who.person, address_of(request))


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the server can tell."""
    return request.client.host if request.client is not None else "unknown"
