"""Who may do what: what a role is granted, and how a person shows who it is without the own secret."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GrantRecord:
    """One row of `grants`: a role may do one thing. None in `workflow`, `operation` or `kind` means any.

    `verb` is a name of `Act`. `kind` belongs to the verb read: a record kind. `up_to_minor` bounds the amount of what is
    answered or resolved, in `currency`; None means any amount.
    """

    grant_id: str
    role: str
    verb: str
    workflow: str | None
    operation: str | None
    kind: str | None
    up_to_minor: int | None
    currency: str | None
    granted_by: str
    granted_at: int
    withdrawn_at: int | None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """One row of `tokens`: a personal token, stored as a digest. `scope` is JSON: {verbs, workflows, operations}, null for any.

    A token never may more than its person may.
    """

    token_id: str
    person: str
    name: str
    token_hash: str
    scope: str
    created_at: int
    expires_at: int
    revoked_at: int | None


@dataclass(frozen=True, slots=True)
class IdentityRecord:
    """One row of `identities`: the person that a provider's subject is."""

    issuer: str
    subject: str
    person: str
    bound_at: int


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One row of `sessions`: a browser that is signed in. `session_id` is the digest of the cookie's value. Not evidence."""

    session_id: str
    person: str
    how: str  # secret, provider, token
    begun_at: int
    seen_at: int
    expires_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class ApprovalKeyRecord:
    """One row of `approval_keys`: an Ed25519 key that answers are signed with. Only its public half is here, as hex."""

    key_id: str
    public_key: str
    added_by: str
    added_at: int
    revoked_at: int | None
