"""Whether the bytes of a message are the receiver's own and are of now. Raw bytes, before anybody parses them."""

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

SECOND_US = 1_000_000
LONGEST_HEADER = 4_000  # characters; several signatures during an exchange of secrets take a few hundred
MOST_SIGNATURES = 20


@dataclass(frozen=True, slots=True)
class Genuine:
    """A message whose signature holds. `own_id`: its id, where the signature covers one that does not stand in the body."""

    own_id: str | None


@dataclass(frozen=True, slots=True)
class Sent:
    """What came: headers with names in lower case, and the bytes. `now_us` and `tolerance_us` bound the signed time."""

    headers: Mapping[str, str]
    body: bytes
    now_us: int
    tolerance_us: int

    def header(self, name: str) -> str:
        """Its value; empty where it is missing or longer than any honest one."""
        value = self.headers.get(name, "")
        return value if len(value) <= LONGEST_HEADER else ""

    def is_of_now(self, seconds: str) -> bool:
        """Whether a signed time, in whole seconds, lies within the tolerance: not replayed, and not kept for later."""
        if not (seconds.isascii() and seconds.isdecimal() and len(seconds) <= 12):
            return False
        return abs(self.now_us - int(seconds) * SECOND_US) <= self.tolerance_us


def genuine(scheme: str, secrets: Sequence[str], sent: Sent) -> Genuine | None:
    """None where it is not: why is nobody's business outside. Every secret is tried, so that time tells nothing."""
    found = [SCHEMES[scheme](secret, sent) for secret in secrets if secret]
    return next((each for each in found if each is not None), None)


def _standard(secret: str, sent: Sent) -> Genuine | None:
    """Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`. The id is signed."""
    from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

    own_id, seconds = sent.header("webhook-id"), sent.header("webhook-timestamp")
    given = [each.removeprefix("v1,") for each in sent.header("webhook-signature").split() if each.startswith("v1,")]
    if not own_id or not sent.is_of_now(seconds):
        return None
    try:
        at = datetime.fromtimestamp(int(seconds), UTC)
        expected = Webhook(secret).sign(own_id, at, sent.body.decode()).removeprefix("v1,")
    except (EmptyWebhookSecretError, ValueError):
        return None  # a secret that is none, or bytes that are no text
    return Genuine(own_id) if _one_of(expected, given) else None


def _stripe(secret: str, sent: Sent) -> Genuine | None:
    """`Stripe-Signature: t=...,v1=...,v1=...` over the time and the bytes. The id stands in the body."""
    parts = [part.strip().partition("=") for part in sent.header("stripe-signature").split(",")]
    times = [value for name, _, value in parts if name == "t"]
    given = [value for name, _, value in parts if name == "v1"]
    if len(times) != 1 or not sent.is_of_now(times[0]):
        return None
    expected = hmac.new(secret.encode(), times[0].encode() + b"." + sent.body, sha256).hexdigest()
    return Genuine(None) if _one_of(expected, given) else None


def _github(secret: str, sent: Sent) -> Genuine | None:
    """`X-Hub-Signature-256: sha256=...` over the bytes alone: neither a time nor the id in its header is signed."""
    given = sent.header("x-hub-signature-256")
    expected = "sha256=" + hmac.new(secret.encode(), sent.body, sha256).hexdigest()
    return Genuine(None) if _one_of(expected, [given]) else None


def _one_of(expected: str, given: Sequence[str]) -> bool:
    """In constant time for each; no early end."""
    held = [hmac.compare_digest(expected.encode(), each.encode()) for each in given[:MOST_SIGNATURES]]
    return True in held


Scheme = Callable[[str, Sent], Genuine | None]
SCHEMES: dict[str, Scheme] = {"standard": _standard, "stripe": _stripe, "github": _github}
