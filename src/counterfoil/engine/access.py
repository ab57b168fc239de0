"""Verbs about who may do what: grants, tokens, identities, sessions. `run_id` is the installation, whose chain tells it.

`by` is the person who acts, None for whoever may write the database's file. That the person may is checked here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.acting import acting, acting_reads, permitted
from counterfoil.engine.verb import RunVerb
from counterfoil.model.access import Act, GrantRecord, IdentityRecord, SessionRecord, TokenRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.people import PersonRecord
from counterfoil.rules.wishes import about_installation
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

ADMINISTER = about_installation(Act.ADMINISTER)


@dataclass(frozen=True, slots=True)
class Grant(RunVerb):
    """Give a role one right. From the first grant on only its grants count for the role, so this may also narrow it.

    A grant that stands changes nothing.
    """

    grant: GrantRecord  # its `granted_at` is set here
    by: str | None
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True  # narrowing forbids sending: a restored copy must not know less

    def reads(self) -> Sequence[Read]:
        return (Read.key(GrantRecord, self.grant.grant_id), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> GrantRecord:
        if self.by is not None:
            permitted(tx, self.by, ADMINISTER)
        known = tx.get(GrantRecord, self.grant.grant_id)
        if known is not None and known.withdrawn_at is None:
            return known
        granted = replace(self.grant, granted_at=tx.now)
        tx.put(granted)
        tx.append(
            self.run_id, EntryKind.GRANT, name=granted.role,
            data={"grant_id": granted.grant_id, "granted": True, "verb": granted.verb, "by": self.by},
        )  # fmt: skip
        return granted


@dataclass(frozen=True, slots=True)
class WithdrawGrant(RunVerb):
    """Take a right back. A second call changes nothing. Raises Refused(not_found)."""

    grant_id: str
    by: str | None
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(GrantRecord, self.grant_id), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> GrantRecord:
        if self.by is not None:
            permitted(tx, self.by, ADMINISTER)
        granted = tx.get(GrantRecord, self.grant_id)
        if granted is None:
            raise Refused("not_found", what="grant", id=self.grant_id)
        if granted.withdrawn_at is not None:
            return granted
        withdrawn = replace(granted, withdrawn_at=tx.now)
        tx.put(withdrawn)
        tx.append(
            self.run_id, EntryKind.GRANT, name=granted.role,
            data={"grant_id": granted.grant_id, "granted": False, "verb": granted.verb, "by": self.by},
        )  # fmt: skip
        return withdrawn


@dataclass(frozen=True, slots=True)
class AddToken(RunVerb):
    """A token of one's own, or of another person for who administers. Only its digest comes this far."""

    token: TokenRecord  # its `created_at` is set here
    by: str | None
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(PersonRecord, self.token.person), Read.key(TokenRecord, self.token.token_id), *acting_reads(self.by)
        )  # fmt: skip

    def decide(self, tx: Transaction) -> TokenRecord:
        _check_own(tx, self.by, self.token.person)
        acting(tx, self.token.person)
        if self.token.expires_at <= tx.now:
            raise Refused("usage", problem="the token would be over at once")
        token = replace(self.token, created_at=tx.now)
        tx.put(token)
        tx.append(
            self.run_id, EntryKind.TOKEN, name=token.person,
            data={"token_id": token.token_id, "created": True, "by": self.by},
        )  # fmt: skip
        return token


@dataclass(frozen=True, slots=True)
class RevokeToken(RunVerb):
    """From now on it is good for nothing. A second call changes nothing. Raises Refused(not_found)."""

    token_id: str
    by: str | None
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True  # a restored copy must not take the token again

    def reads(self) -> Sequence[Read]:
        return (Read.key(TokenRecord, self.token_id), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> TokenRecord:
        token = tx.get(TokenRecord, self.token_id)
        if token is None:
            raise Refused("not_found", what="token", id=self.token_id)
        _check_own(tx, self.by, token.person)
        if token.revoked_at is not None:
            return token
        revoked = replace(token, revoked_at=tx.now)
        tx.put(revoked)
        tx.append(
            self.run_id, EntryKind.TOKEN, name=token.person,
            data={"token_id": token.token_id, "created": False, "by": self.by},
        )  # fmt: skip
        return revoked


@dataclass(frozen=True, slots=True)
class BindIdentity(RunVerb):
    """The first sign-in of a provider's subject: from now on it is this person, whatever its claims say.

    Gives the binding that stands, which is the earlier one where two sign-ins met. Raises Refused(provider_refused) for a
    person whom another subject of the issuer is bound to: a name that was given out again must not inherit a person.
    """

    issuer: str
    subject: str
    person: str
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(IdentityRecord, self.issuer, self.subject), Read.by(IdentityRecord, "person", self.person),
            Read.key(PersonRecord, self.person),
        )  # fmt: skip

    def decide(self, tx: Transaction) -> IdentityRecord:
        known = tx.get(IdentityRecord, self.issuer, self.subject)
        if known is not None:
            return known
        acting(tx, self.person)
        if any(other.issuer == self.issuer for other in tx.find(IdentityRecord, "person", self.person)):
            raise Refused("provider_refused", problem=f"{self.person} is bound to another account there")
        bound = IdentityRecord(self.issuer, self.subject, self.person, tx.now)
        tx.put(bound)
        tx.append(
            self.run_id, EntryKind.IDENTITY, name=self.person, data={"issuer": self.issuer, "subject": self.subject}
        )
        return bound


@dataclass(frozen=True, slots=True)
class BeginSession(RunVerb):
    """Somebody signed in. The session is no evidence; that it began is."""

    session_id: str
    person: str
    how: str
    lifetime_us: int
    token_id: str | None = None
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        token = () if self.token_id is None else (Read.key(TokenRecord, self.token_id),)
        return (Read.key(SessionRecord, self.session_id), Read.key(PersonRecord, self.person), *token)

    def decide(self, tx: Transaction) -> SessionRecord:
        acting(tx, self.person)
        expires_at = min(tx.now + self.lifetime_us, self._token_ends(tx))
        begun = SessionRecord(self.session_id, self.person, self.how, tx.now, tx.now, expires_at, None, self.token_id)
        tx.put(begun)
        token = {} if self.token_id is None else {"token_id": self.token_id}
        tx.append(self.run_id, EntryKind.SIGNED_IN, name=self.person, data={"how": self.how} | token)
        return begun

    def _token_ends(self, tx: Transaction) -> int:
        if self.token_id is None:
            return tx.now + self.lifetime_us
        token = tx.get(TokenRecord, self.token_id)
        if token is None or token.revoked_at is not None or token.expires_at <= tx.now:
            raise Refused("token_invalid")
        return token.expires_at


@dataclass(frozen=True, slots=True)
class TouchSession(RunVerb):
    """The browser is still there; or (`ended`) it signed out. `run_id` is the session's id. Nothing for one that is over."""

    ended: bool
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(SessionRecord, self.run_id),)

    def decide(self, tx: Transaction) -> None:
        session = tx.get(SessionRecord, self.run_id)
        if session is None or session.ended_at is not None:
            return
        tx.put(replace(session, ended_at=tx.now) if self.ended else replace(session, seen_at=tx.now))


def _check_own(tx: Transaction, by: str | None, person: str) -> None:
    """One's own token takes no right but to be there; another's takes the right to administer."""
    if by == person:
        acting(tx, person)
    elif by is not None:
        permitted(tx, by, ADMINISTER)
