"""What a count of records at a receiver says about an operation that was closed (design section 5, `counts_as`)."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from counterfoil.model.contract import Contract
from counterfoil.model.operation import OperationStatus
from counterfoil.rules.evidence import Sighting, judge_sightings

SECOND_LOOK = timedelta(minutes=1)  # the least time between two looks at what may be the lookup's own doing


@dataclass(frozen=True, slots=True)
class Witnessed:
    """One record that a sweep saw. `by`: who made it, as the receiver names them; None: it does not say."""

    reference: str
    digest: str | None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """`result`: "fits", "notice" (it may be somebody else's: `why`), "again" (to be seen a second time) or "duplicate"."""

    result: Literal["fits", "notice", "again", "duplicate"]
    why: str | None = None


def weigh(
    contract: Contract,
    status: OperationStatus,
    payload_digest: str,
    seen: Sequence[Witnessed],
    receipts: Set[str],
    waited_us: int,
) -> Count:
    """`receipts`: the references of the operation's own. `waited_us`: since more than its share was first seen.

    Each value of `counts_as` asks for more before a second record is called ours; less is a notice.
    """
    judged = judge_sightings(contract, payload_digest, [Sighting(each.reference, each.digest) for each in seen])
    failed = status is OperationStatus.FAILED
    if judged != "several" and not (judged == "match" and failed):
        return Count("fits")
    if not failed:
        count = len({each.reference for each in seen})
        if "reference" not in contract.counts_as:
            return Count("notice", f"{count} records, and the contract does not say that each carries our reference")
        if "credential" in contract.counts_as and not _twice_by_ours(seen, receipts):
            return Count("notice", f"{count} records, and none but ours was certainly made by whoever made ours")
    if "seen_twice" in contract.counts_as and waited_us < second_look(contract) // timedelta(microseconds=1):
        return Count("again")
    return Count("duplicate")


def second_look(contract: Contract) -> timedelta:
    """How long after the first look a record must still be there: once may be the lookup's own doing."""
    visible = contract.lookup.visible_within if contract.lookup is not None else None
    return max(visible or timedelta(0), SECOND_LOOK)


def _twice_by_ours(seen: Sequence[Witnessed], receipts: Set[str]) -> bool:
    """A marker can be copied by whoever reads it. Whose name our own record bears is the name that a second one must bear."""
    ours = {each.by for each in seen if each.reference in receipts and each.by is not None}
    return len({each.reference for each in seen if each.by in ours}) > 1
