"""People's secrets: stored as scrypt with a salt, and proven outside the writer's thread, which must not wait for it."""

import hashlib
import hmac

from counterfoil.model.errors import Refused
from counterfoil.model.moments import rfc3339
from counterfoil.model.people import PersonRecord
from counterfoil.store.port import Reader

_N, _R, _P = 2**14, 8, 1


def hashed(secret: str, salt: str) -> str:
    """`scrypt$<salt>$<hex>`. `salt` is hexadecimal chance from the caller."""
    return f"scrypt${salt}${_digest(secret, salt)}"


def fits(secret: str, stored: str) -> bool:
    """Whether this is the secret, compared in constant time."""
    kind, _, rest = stored.partition("$")
    salt, _, digest = rest.partition("$")
    return kind == "scrypt" and hmac.compare_digest(_digest(secret, salt), digest)


def prove(reader: Reader, name: str, secret: str) -> PersonRecord:
    """The person, who knows the secret and is not revoked. Raises Refused(unknown_person, person_revoked, wrong_secret)."""
    person = reader.get(PersonRecord, name)
    if person is None:
        raise Refused("unknown_person", name=name)
    if not fits(secret, person.secret_hash):
        raise Refused("wrong_secret", name=name)
    if person.revoked_at is not None:
        raise Refused("person_revoked", name=name, at=rfc3339(person.revoked_at))
    return person


def _digest(secret: str, salt: str) -> str:
    return hashlib.scrypt(secret.encode(), salt=bytes.fromhex(salt), n=_N, r=_R, p=_P, dklen=32).hex()
