"""Signed answers: which approval keys count, what is signed, and whether a stored answer is what was signed.

Ed25519 over canonical JSON (RFC 8785). The private half is where answers are given, never where writes are sent from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from counterfoil.model import ids
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.codec import canonical, parsed
from counterfoil.model.review import AnswerRecord, ReviewRecord

_ANCHORED = "inst_key_"


@dataclass(frozen=True, slots=True)
class Keys:
    """`required`: every approval must be signed. `live`: the public keys that count, as hex by key id."""

    required: bool
    live: Mapping[str, str]


def key_id_of(public_key: str) -> str:
    """A key is named after its public half, given as hex."""
    return ids.derived("key", public_key)


def anchored_id(public_key: str) -> str:
    """The id of an installation that is founded with this key.

    It stands in every run's id and in the outside marker, so the first key can be neither changed nor taken away unseen.
    """
    return f"inst_{key_id_of(public_key)}"


def keys_of(installation_id: str, rows: Iterable[ApprovalKeyRecord]) -> Keys:
    """The keys that lead back to the installation's first one and were not revoked.

    Once a key was registered, none is needed ever after: also with all of them revoked, or gone, no unsigned approval counts.
    """
    known = {row.key_id: row for row in rows}
    required = bool(known) or installation_id.startswith(_ANCHORED)
    roots = [row for row in known.values() if row.signed_by is None and row.key_id == key_id_of(row.public_key)]
    if installation_id.startswith(_ANCHORED):
        roots = [row for row in roots if anchored_id(row.public_key) == installation_id]
    if len(roots) != 1:
        return Keys(required, {})  # two that nobody vouches for: neither counts
    vouched = {roots[0].key_id}
    while more := {row.key_id for row in known.values() if _vouched(installation_id, row, known, vouched)} - vouched:
        vouched |= more
    return Keys(required, {name: known[name].public_key for name in sorted(vouched) if known[name].revoked_at is None})


def _vouched(
    installation_id: str, row: ApprovalKeyRecord, known: Mapping[str, ApprovalKeyRecord], vouched: set[str]
) -> bool:
    if row.signed_by not in vouched or row.signature is None or row.key_id != key_id_of(row.public_key):
        return False
    older = known[row.signed_by]
    if older.revoked_at is not None and older.revoked_at < row.added_at:
        return False
    return verified(older.public_key, addition(installation_id, row.public_key, row.added_by), row.signature)


def addition(installation_id: str, public_key: str, added_by: str) -> str:
    """What an older key signs to vouch for a new one."""
    return canonical({"installation": installation_id, "public_key": public_key, "added_by": added_by}).decode()


def statement(
    installation_id: str, review: ReviewRecord, person: str, decision: str, *, comment: str, ask_revision: bool, at: int
) -> str:
    """What an answer signs. `at`: the answering process's own time; an approval of that time expires when it says."""
    return canonical(
        {
            "installation": installation_id,
            "review": review.review_id,
            "operation": review.operation_id,
            "version": review.proposal_version,
            "digest": review.digest,
            "scope": parsed(review.scope),
            "kind": review.kind,
            "role": review.role,
            "needed": review.needed,
            "person": person,
            "decision": decision,
            "comment": comment,
            "ask_revision": ask_revision,
            "at": at,
            "expires_at": at + (review.expires_at - review.opened_at),
        },
        where="the answer",
    ).decode()


def expires_at_of(answer: AnswerRecord) -> int:
    """Until when the signed approval is good, in microseconds."""
    said: dict[str, Any] = parsed(answer.statement)
    return int(said["expires_at"])


def holds(keys: Keys, installation_id: str, review: ReviewRecord, answer: AnswerRecord) -> bool:
    """Whether a key that counts signed exactly what the rows of this answer and its review say."""
    public_key = keys.live.get(answer.key_id or "")
    if public_key is None or answer.statement is None or answer.signature is None:
        return False
    return says(installation_id, review, answer) and verified(public_key, answer.statement, answer.signature)


def says(installation_id: str, review: ReviewRecord, answer: AnswerRecord) -> bool:
    """Whether the signed text is about these rows, in every part that the text names."""
    try:
        said: Any = parsed(answer.statement)
        again: Any = parsed(
            statement(
                installation_id, review, answer.person, answer.decision,
                comment=answer.comment, ask_revision=bool(answer.ask_revision), at=int(said["at"]),
            )
        )  # fmt: skip
        # The question's own times move when it is decided; what was signed bounds them.
        again["expires_at"] = said["expires_at"]
    except (ValueError, KeyError, TypeError):
        return False
    return said == again and answer.digest == review.digest


@lru_cache(maxsize=4096)
def verified(public_key: str, text: str, signature: str) -> bool:
    """Whether the key with this public half signed the text. All but the text as hex."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(bytes.fromhex(signature), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True
