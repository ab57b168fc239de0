"""Who asks: a personal token, the session's cookie, or on loopback the chosen person. The dependencies of every route."""

from typing import Annotated

from fastapi import Depends, Request

from counterfoil.app.access import Actor
from counterfoil.app.desk import Desk
from counterfoil.console.cookies import session_value
from counterfoil.console.state import console_of
from counterfoil.model.errors import Refused


def actor(request: Request) -> Actor:
    """Who is signed in. Raises Refused(not_signed_in, token_invalid, session_over)."""
    console = console_of(request)
    access = console.app.access
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return access.by_token(token.strip())
    session = session_value(request)
    if session:
        return access.by_session(session)
    if console.development and console.person is not None:
        return access.in_development(console.person)
    raise Refused("not_signed_in")


def desk(request: Request) -> Desk:
    """The nouns as the signed-in person sees them. Raises as `actor`."""
    return console_of(request).app.desk(actor(request))


SignedIn = Annotated[Actor, Depends(actor)]
AtDesk = Annotated[Desk, Depends(desk)]
