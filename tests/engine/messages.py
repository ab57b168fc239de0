"""Messages of receivers in the tests: signed as the three schemes sign, at a time that is passed in."""

import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from standardwebhooks.webhooks import Webhook

STANDARD, OTHER = "whsec_c3RhbmRhcmQgc2VjcmV0", "whsec_YW5vdGhlciBzZWNyZXQ="


def body_of(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said).encode()


def standard(body: bytes, now_us: int, *, id: str = "msg_1", secret: str = STANDARD) -> dict[str, str]:
    at = datetime.fromtimestamp(now_us // 1_000_000, UTC)
    signature = Webhook(secret).sign(id, at, body.decode())
    return {"webhook-id": id, "webhook-timestamp": str(now_us // 1_000_000), "webhook-signature": signature}


def stripe(body: bytes, now_us: int, *, secret: str = STANDARD) -> dict[str, str]:
    at = str(now_us // 1_000_000)
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, sha256).hexdigest()
    return {"stripe-signature": f"t={at},v1={digest},v0=unused"}


def github(body: bytes, now_us: int = 0, *, id: str = "d-1", secret: str = STANDARD) -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, sha256).hexdigest()
    return {"x-github-delivery": id, "x-hub-signature-256": f"sha256={digest}"}
