"""Who may do what: what a role is granted, and how a person shows who it is without the own secret."""

from dataclasses import dataclass
from enum import StrEnum


class Act(StrEnum):
    """What a person may be granted. `read` goes with a record kind; the others are verbs of the nouns."""

    READ = "read"
    SUBMIT = "submit"
    ANSWER = "answer"
    WITHDRAW = "withdraw"
    RESOLVE = "resolve"
    LOOKUP = "lookup"
    RESUME = "resume"
    RAISE = "raise"
    RETRY = "retry"
    CANCEL = "cancel"
    SIGNAL = "signal"
    TEND = "tend"
    SUSPEND_WRITES = "suspend_writes"
    RESUME_WRITES = "resume_writes"
    CLOSE_INCIDENT = "close_incident"
    FINISH_RESTORE = "finish_restore"
    IMPORT_STATEMENT = "import_statement"
    EXPORT_AUDIT = "export_audit"
    ADMINISTER = "administer"


class RecordKind(StrEnum):
    """What is read, kind by kind. Documents are also the sources of a proposal; decisions carry their prompts."""

    CONVERSATION = "conversation"
    WORKING_CONTEXT = "working_context"
    DOCUMENTS = "documents"
    DECISIONS = "decisions"
    PAYLOADS = "payloads"
    RECEIPTS = "receipts"
    APPROVALS = "approvals"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a token is good for; None means whatever its person may. Names of acts, workflows and operations."""

    verbs: frozenset[str] | None = None
    workflows: frozenset[str] | None = None
    operations: frozenset[str] | None = None


WHOLE = Scope()


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
    """One row of `sessions`: a browser that is signed in. `session_id` is the digest of the cookie's value. Not evidence.

    `token_id`: the personal token that it was begun with, which bounds what it may and how long it lasts.
    """

    session_id: str
    person: str
    how: str  # secret, provider, token
    begun_at: int
    seen_at: int
    expires_at: int
    ended_at: int | None
    token_id: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalKeyRecord:
    """One row of `approval_keys`: an Ed25519 key that answers are signed with. Only its public half is here, as hex.

    The first key is the root: nothing signed it. Every other was signed by an older one, `signed_by`.
    """

    key_id: str
    public_key: str
    added_by: str
    added_at: int
    revoked_at: int | None
    signed_by: str | None = None
    signature: str | None = None
