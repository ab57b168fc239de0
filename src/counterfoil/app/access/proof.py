"""Whether what an Actor was made from still holds."""

from counterfoil.app.access.actor import Actor
from counterfoil.app.access.sessions import session_ended
from counterfoil.model.access import SessionRecord, TokenRecord
from counterfoil.model.errors import Refused
from counterfoil.model.people import PersonRecord
from counterfoil.store.port import Reader


def still_proven(reader: Reader, actor: Actor, now: int) -> PersonRecord:
    """The person. Raises Refused(token_invalid) or Refused(session_over): also a page that stays open ends with them."""
    person = reader.get(PersonRecord, actor.person)
    gone = person is None or person.revoked_at is not None
    if actor.how == "token":
        token = reader.get(TokenRecord, actor.proof_id or "")
        if gone or token is None or token_over(token, now):
            raise Refused("token_invalid")
    session_id = actor.proof_id if actor.how == "session" else actor.session_id
    if session_id is not None:
        session = reader.get(SessionRecord, session_id)
        if gone or session is None or session_ended(session, now):
            raise Refused("session_over")
    if person is None or gone:
        raise Refused("session_over")
    return person


def token_over(token: TokenRecord, now: int) -> bool:
    """Revoked, or expired."""
    return token.revoked_at is not None or token.expires_at <= now
