"""A typed receipt as it is stored: every text of it can be, and a long one lies beside the journal, where its row names it."""

import asyncio
from typing import Any

from counterfoil.model.codec import BODY_LIMIT, compact, parsed, storable
from counterfoil.store.artifacts import ArtifactStore, Whole, kept_as
from counterfoil.store.port import StorageError

BESIDE = "beside"
LONGEST_REFERENCE = 1_000  # characters; what identifies a record at a receiver is far shorter


async def kept_receipt(artifacts: ArtifactStore, plain: dict[str, Any]) -> dict[str, Any]:
    """The receipt, or `{reference, beside}` of a long one. What the receiver did is recorded, whatever it answered."""
    receipt: dict[str, Any] = storable(plain)
    text = compact(receipt)
    if len(text) <= BODY_LIMIT:
        return receipt
    short = {"reference": str(receipt["reference"])[:LONGEST_REFERENCE]}
    try:
        artifact = await asyncio.to_thread(artifacts.save, text.encode(), name="receipt")
    except StorageError:
        return short
    return short | {BESIDE: {"artifact": artifact.digest}}


def beside(plain: dict[str, Any]) -> str | None:
    """The artifact of a receipt that lies beside the journal."""
    return kept_as(plain.get(BESIDE)) if plain.keys() == {"reference", BESIDE} else None


def whole_receipt(body: str, whole: Whole) -> dict[str, Any]:
    """What `kept_receipt` kept, from the row's body. Raises as `ArtifactStore.read`."""
    plain: dict[str, Any] = parsed(body)
    return plain if beside(plain) is None else whole(plain[BESIDE])
