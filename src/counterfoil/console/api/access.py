"""People, roles and tokens over HTTP: one's own tokens for everybody, the rest for who administers."""

from datetime import timedelta
from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from counterfoil.client.shapes.access import Grant, NewToken, Role, Token
from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.installation import Person
from counterfoil.console.api.bodies import Granting, NewPerson, TokenWanted
from counterfoil.console.api.described import Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk

router = router_of("access")


@router.get("/people", responses=gives(Answer[Page[Person]]))
def list_people(at: AtDesk) -> Response:
    """List people by name, the revoked too."""
    return answer("people list", at.people.list())


@router.post("/people", status_code=201, responses=gives(Answer[Person], 201))
async def add_person(at: AtDesk, body: NewPerson) -> Response:
    """Add a person."""
    data = await at.people.add(body.name, roles=body.roles, secret=body.secret, stand_in_for=body.stand_in_for)
    return answer("people add", data, 201)


@router.post("/people/{name}/revoke", responses=gives(Answer[Person]))
async def revoke_person(at: AtDesk, name: Annotated[str, Path(min_length=1, max_length=200)]) -> Response:
    """From now on this person decides nothing, and approvals that were not used yet no longer count."""
    return answer("people revoke", await at.people.revoke(name))


@router.get("/roles", responses=gives(Answer[Page[Role]]))
def list_roles(at: AtDesk) -> Response:
    """List roles, who holds them, and what they are granted."""
    return answer("roles list", at.access.grants.list())


@router.post("/roles/grants", status_code=201, responses=gives(Answer[Grant], 201))
async def grant_right(at: AtDesk, body: Granting) -> Response:
    """Give a role one right. As soon as a role has grants, only they count."""
    data = await at.access.grants.grant(
        body.role, body.verb, workflow=body.workflow, operation=body.operation, kind=body.kind,
        up_to_minor=body.up_to_minor, currency=body.currency,
    )  # fmt: skip
    return answer("roles grant", data, 201)


@router.post("/roles/grants/{grant}/withdraw", responses=gives(Answer[Grant]))
async def withdraw_grant(at: AtDesk, grant: Which) -> Response:
    """Take a right back."""
    return answer("roles withdraw", await at.access.grants.withdraw(grant))


@router.get("/tokens", responses=gives(Answer[Page[Token]]))
def list_tokens(at: AtDesk) -> Response:
    """List your tokens; everybody's for who administers."""
    return answer("tokens list", at.access.tokens.list())


@router.post("/tokens", status_code=201, responses=gives(Answer[NewToken], 201))
async def create_token(at: AtDesk, body: TokenWanted) -> Response:
    """Make a personal token. It is shown now and never again; a token makes no token."""
    data = await at.access.tokens.create(
        name=body.name, expires_in=timedelta(days=body.days), person=body.person, verbs=body.verbs,
        workflows=body.workflows, operations=body.operations,
    )  # fmt: skip
    return answer("tokens create", data, 201)


@router.post("/tokens/{token}/revoke", responses=gives(Answer[Token]))
async def revoke_token(at: AtDesk, token: Which) -> Response:
    """From now on it is good for nothing. Named by its id."""
    return answer("tokens revoke", await at.access.tokens.revoke(token))
