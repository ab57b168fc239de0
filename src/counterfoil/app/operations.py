"""The noun `operations`: read them, ask the receiver about one, resolve a doubt."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.access.actor import Actor, name_of, proven
from counterfoil.app.finding import known_id
from counterfoil.app.views.listing import listed
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.operation import operation_view
from counterfoil.app.views.shown import Shown
from counterfoil.engine import reconcile
from counterfoil.engine.gate import gated_name
from counterfoil.engine.opened import Opened
from counterfoil.engine.resolve import Resolution, Resolve
from counterfoil.engine.situation import Target, newest_review, target_of
from counterfoil.model.access import Act, GrantRecord
from counterfoil.model.errors import Refused
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.people import PersonRecord, owner_facts, owner_of
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.rules.permissions import allowed, standing_of
from counterfoil.rules.wishes import about_operation
from counterfoil.store.port import Places, Reader

_AS = {"succeeded": "succeeded", "failed": "failed", "send-again": "send_again", "send_again": "send_again"}


class Operations:
    """`app.operations`. An operation is named by its id, a unique prefix, its number, or `op-NUMBER`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(
        self,
        *,
        status: str | None = None,
        receiver: str | None = None,
        places: Places = None,
        cursor: int | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """`{items: [OPERATION], next_cursor}`, newest first. `places`: where may be seen. Raises Refused(usage) for an unknown status."""
        if status is not None and status not in {member.value for member in OperationStatus}:
            raise Refused("usage", problem=f"there is no status {status!r}; there are {', '.join(OperationStatus)}")
        opened = self._opened()
        with opened.read() as reader:
            page = reader.lists.operations(status=status, receiver=receiver, places=places, before=cursor, limit=limit)
            shown = Shown.of(opened, reader)
            return listed([operation_view(shown, operation) for operation in page.items], page.next_cursor)

    def show(self, operation: str) -> dict[str, Any]:
        """OPERATION. Raises Refused(not_found, ambiguous_id)."""
        opened = self._opened()
        with opened.read() as reader:
            return operation_view(Shown.of(opened, reader), _operation(reader, operation))

    async def lookup(self, operation: str, *, by: Actor | str | None = None) -> dict[str, Any]:
        """Ask the receiver now, and rule on what it shows. OPERATION as it is then.

        Raises Refused(no_lookup), and for a person who is named: unknown_person, person_revoked, not_permitted.
        """
        opened = self._opened()
        with opened.read() as reader:
            record = _operation(reader, operation)
            operation_id = record.operation_id
            if isinstance(by, str):
                _may_ask(reader, by, record)
        await reconcile.look_up(opened, operation_id, None if by is None else name_of(by))
        return self.show(operation_id)

    async def resolve(  # noqa: PLR0913 - what a resolution must name, each by keyword
        self,
        operation: str,
        *,
        as_: str,
        by: Actor | str,
        secret: str = "",
        reason: str,
        evidence: bytes | str,
        expect_version: int,
        evidence_name: str = "evidence",
        reference: str | None = None,
        new_key: bool = False,
    ) -> dict[str, Any]:
        """Close a doubt. `as_`: succeeded, failed or send-again. The evidence, a file's bytes or a text, is kept as an artifact.

        Gives OPERATION.

        Raises Refused: stale_version, not_in_doubt, attempt_live, unsafe_repeat, wrong_secret, role_missing, own_action, usage.
        """
        content = evidence.encode() if isinstance(evidence, str) else evidence
        _check(as_, reason, content, reference, new_key)
        opened = self._opened()
        with opened.read() as reader:
            record = _operation(reader, operation)
            person = proven(reader, by, secret)
            target = target_here(opened, reader, record)
        kept = opened.artifacts.save(content, name=evidence_name)
        said = Resolution(
            as_=_AS[as_], new_key=new_key, by=person, reason=reason, evidence=evidence_name, evidence_digest=kept.digest,
            reference=reference, expect_version=expect_version,
        )  # fmt: skip
        await opened.write(Resolve(record.run_id, target, said))
        return self.show(record.operation_id)


def _may_ask(reader: Reader, name: str, operation: OperationRecord) -> None:
    """Before the receiver is bothered, and before its answer would be lost with the refusal."""
    people = list(reader.rows(PersonRecord))
    person = next((each for each in people if each.name == name), None)
    run = reader.get(RunRecord, operation.run_id)
    if person is None or run is None:
        raise Refused("unknown_person", name=name)
    if person.revoked_at is not None:
        raise Refused("person_revoked", name=name, at=rfc3339(person.revoked_at))
    standing = standing_of(person, people, list(reader.rows(GrantRecord)))
    if not allowed(standing, about_operation(Act.LOOKUP, operation, run)):
        raise Refused("not_permitted", name=name, act=Act.LOOKUP.value)


def target_here(opened: Opened, reader: Reader, operation: OperationRecord) -> Target:
    """The operation as a verb addresses it, from a process that does not send.

    The scope is that of the newest attempt: whoever resolves need not hold the sender's credential, and the scope in
    force is compared again in the transaction that sends.
    """
    attempts = reader.find(AttemptRecord, "operation_id", operation.operation_id)
    scope = attempts[-1].scope if attempts else ""
    review = _review_asked(opened, reader, operation)
    return target_of(operation, scope, review, gated_name(opened, operation, review_needed=review is not None))


def _review_asked(opened: Opened, reader: Reader, operation: OperationRecord) -> dict[str, Any] | None:
    """What a new review of it would ask: from the code, or from its newest review where this code does not know it."""
    known = opened.registry.operations.get(operation.name)
    if known is not None:
        return known.review_facts()
    review = newest_review(reader.find(ReviewRecord, "operation_id", operation.operation_id))
    if review is None:
        return None
    approved = review.state is ReviewState.APPROVED and review.decided_at is not None
    began = review.decided_at if approved and review.decided_at is not None else review.opened_at
    owner = owner_facts(owner_of(review.owner)) | {"then": review.owner_then}
    return {"role": review.role, "expires_us": review.expires_at - began, "owner": owner, "approvals": review.needed}


def _operation(reader: Reader, text: str) -> OperationRecord:
    record = reader.get(OperationRecord, known_id(reader, "operation", text))
    assert record is not None, "the id was just found in this snapshot"
    return record


def _check(as_: str, reason: str, evidence: bytes, reference: str | None, new_key: bool) -> None:
    if as_ not in _AS:
        raise Refused("usage", problem=f"--as {as_!r} is none of succeeded, failed, send-again")
    if not reason.strip():
        raise Refused("usage", problem="a resolution names its reason")
    if not evidence:
        raise Refused("usage", problem="a resolution brings evidence; the file is empty")
    if as_ == "succeeded" and not (reference or "").strip():
        raise Refused("usage", problem="--as succeeded names the receiver's reference")
    if new_key and _AS[as_] != "send_again":
        raise Refused("usage", problem="--new-key belongs to --as send-again")
