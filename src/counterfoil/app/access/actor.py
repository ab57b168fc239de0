"""Who acts, and how that was shown. Only `app.access` makes an Actor; the nouns take one in place of a name and a secret."""

from dataclasses import dataclass
from typing import Literal

from counterfoil.app.secrets import prove
from counterfoil.model.access import WHOLE, Scope
from counterfoil.store.port import Reader

How = Literal["secret", "token", "session", "provider", "development"]


@dataclass(frozen=True, slots=True)
class Actor:
    """A person whose identity was shown. `proof_id` is the token's or session's id, None for a secret given right now.

    `session_id`: of a token that a browser signed in with; `how` is then token, since it stays bound to the token's scope.
    What the person may do is looked up again at every act; only the token's scope comes along.
    """

    person: str
    how: How
    scope: Scope = WHOLE
    proof_id: str | None = None
    session_id: str | None = None


def name_of(by: Actor | str) -> str:
    """The person's name."""
    return by.person if isinstance(by, Actor) else by


def named(by: Actor | str | None) -> str | None:
    """The person's name, None where nobody is named: then whoever may write the database's file acts."""
    return None if by is None else name_of(by)


def proven(reader: Reader, by: Actor | str, secret: str) -> str:
    """The name of who acts: shown before (an Actor), or by this secret. Raises Refused as `prove` does."""
    return by.person if isinstance(by, Actor) else prove(reader, by, secret).name
