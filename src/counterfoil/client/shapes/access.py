"""Who may do what: roles with their grants, and personal tokens."""

from pydantic import Field

from counterfoil.client.shapes.base import Money, Shape


class Grant(Shape):
    """A role may do one thing. Null in `workflow`, `operation` or `kind` means any."""

    grant_id: str
    role: str
    verb: str
    workflow: str | None
    operation: str | None
    kind: str | None
    up_to: Money | None
    granted_by: str | None
    granted_at: str
    withdrawn_at: str | None


class Role(Shape):
    """A role that the application names, somebody holds, or was granted to."""

    role: str
    built_in: bool
    named: bool
    people: list[str]
    grants: list[Grant]
    narrowed: bool = Field(description="A grant was given once: only its grants count.")


class TokenScope(Shape):
    """What a token is good for; null means whatever its person may."""

    verbs: list[str] | None
    workflows: list[str] | None
    operations: list[str] | None


class Token(Shape):
    """A personal token, without itself."""

    token_id: str
    person: str
    name: str
    scope: TokenScope
    created_at: str
    expires_at: str
    revoked_at: str | None


class NewToken(Token):
    """A token, shown now and never again."""

    token: str
