"""Take one message in: its signature first, then its place on the disk. Nobody is answered before the commit."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, cast

from counterfoil.app.webhooks.signatures import Genuine, Sent, genuine
from counterfoil.engine.deliveries import StoreDelivery
from counterfoil.engine.endpoint import value_of
from counterfoil.engine.opened import Opened
from counterfoil.engine.problem_log import log
from counterfoil.engine.receipts import BESIDE
from counterfoil.model.codec import BODY_LIMIT, compact, digest_of, is_storable
from counterfoil.model.delivery import DeliveryRecord
from counterfoil.model.errors import Refused
from counterfoil.rules.deliveries import text_at, type_of

LONGEST_ID = 255
_NOBODY = "whsec_bm9ib2R5"  # compared where nothing is declared, so that the time of an answer does not tell that


async def take(opened: Opened, receiver: str, headers: Mapping[str, str], body: bytes) -> tuple[DeliveryRecord, bool]:
    """The stored message, and whether it is new.

    Raises Refused(webhook_refused), the same for every reason, Refused(malformed_json) for signed bytes that hold no JSON
    object, and StorageError: then whoever sent it must send it again.
    """
    proven = _proven(opened, receiver, headers, body)
    if proven is None:
        raise Refused("webhook_refused")
    said = _object(body)
    contracts = contracts_of(opened, receiver)
    digest = digest_of(body)
    own_id = proven.own_id or (text_at(said, "id") if _signs_its_id(opened, receiver) else None) or digest
    if len(own_id) > LONGEST_ID or not is_storable(own_id):
        own_id = digest_of(own_id.encode(errors="backslashreplace"))
    kind = type_of(contracts, said)
    text = body.decode()
    if len(body) > BODY_LIMIT:
        artifact = await asyncio.to_thread(opened.artifacts.save, body, name="delivery")
        text = compact({BESIDE: {"artifact": artifact.digest}})
    shown = None if kind is None or not is_storable(kind) else kind[:LONGEST_ID]
    return await opened.write(StoreDelivery(opened.installation_id, receiver, own_id, shown, text, digest))


def contracts_of(opened: Opened, receiver: str) -> list[Any]:
    """The contracts of a receiver's operations, as the code at hand has them."""
    return [each.contract for each in opened.registry.operations.values() if each.receiver == receiver]


def whole_body(opened: Opened, delivery: DeliveryRecord) -> dict[str, Any]:
    """The message as JSON, also where it lies beside the database. Raises Refused(artifact_missing, artifact_damaged)."""
    return json.loads(opened.artifacts.read(delivery.body_digest) if lies_beside(delivery) else delivery.body)


def lies_beside(delivery: DeliveryRecord) -> bool:
    """Whether its row only names the artifact with its bytes."""
    return delivery.body_digest != digest_of(delivery.body.encode())


def _proven(opened: Opened, receiver: str, headers: Mapping[str, str], body: bytes) -> Genuine | None:
    declared = opened.registry.receivers.get(receiver)
    webhook = None if declared is None else declared.webhook
    scheme, tolerance, secrets = "standard", 0, [_NOBODY]
    if webhook is not None:
        scheme, tolerance = webhook.scheme, round(webhook.tolerance.total_seconds() * 1_000_000)
        try:
            secrets = [value_of(secret, opened.environ) for secret in webhook.secrets]
        except Refused as refused:
            log.error("a message for %s cannot be verified: %s", receiver, refused.message)
            webhook = None
    found = genuine(scheme, secrets, Sent(headers, body, opened.clock.now_us(), tolerance))
    return found if webhook is not None else None


def _signs_its_id(opened: Opened, receiver: str) -> bool:
    """Stripe's id stands in the signed bytes; GitHub's is a header that nobody signs, so its bytes are its id."""
    webhook = opened.registry.receivers[receiver].webhook
    return webhook is not None and webhook.scheme == "stripe"


def _object(body: bytes) -> dict[str, Any]:
    try:
        said: Any = json.loads(body)
        body.decode()
    except (ValueError, RecursionError) as problem:
        raise Refused("malformed_json", problem=str(problem)[:200]) from problem
    if not isinstance(said, dict):
        raise Refused("malformed_json", problem="it is no object")
    return cast("dict[str, Any]", said)
