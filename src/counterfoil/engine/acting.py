"""Who acts on the installation, and what an act wakes."""

from collections.abc import Sequence

from counterfoil.engine.waking import wake
from counterfoil.model.errors import Refused
from counterfoil.model.moments import rfc3339
from counterfoil.model.people import PersonRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.transaction import Transaction


def acting(tx: Transaction, name: str) -> PersonRecord:
    """The named person, who is not revoked. `reads` must name it. Raises Refused(unknown_person, person_revoked)."""
    person = tx.get(PersonRecord, name)
    if person is None:
        raise Refused("unknown_person", name=name)
    if person.revoked_at is not None:
        raise Refused("person_revoked", name=name, at=rfc3339(person.revoked_at))
    return person


def wake_parked(tx: Transaction, runs: Sequence[str], reason: str) -> None:
    """Wake those of `runs` that are still parked for this reason; others have moved on meanwhile."""
    for run_id in runs:
        if tx.must(RunRecord, run_id).reason == reason:
            wake(tx, run_id)
