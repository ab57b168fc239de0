"""One exchange with a receiver, as it was seen: how far it got, and what came back."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from counterfoil.model.codec import compact

Reached = Literal["nothing", "connected", "request", "headers", "body"]
Told = tuple[int, Any, Mapping[str, str] | None]  # an answer as a vendor's SDK shows it: status, body and headers
KEPT = 64 * 1024  # bytes of a reply's body that are kept as evidence
# Problems that are ours and say nothing of the receiver: we kept the request back, or nobody read its answer.
NEVER_BEGUN = "the attempt ended before its first byte"
TOO_LATE = "the attempt's deadline passed before its first byte"
CLOCKS_DISAGREE = "the clocks disagree since before its first byte"
ATTEMPT_OVER = "the attempt is over"
NOT_ENDED = "the write has not ended"
NOT_TOLD = "the tool told no answer"
HELD_BACK = frozenset({NEVER_BEGUN, TOO_LATE, CLOCKS_DISAGREE, ATTEMPT_OVER, NOT_ENDED, NOT_TOLD})
STOPPED = "stopped: "  # how a problem begins whose attempt was stopped from our side
_NEVER_KEPT = frozenset({"set-cookie", "authorization", "www-authenticate", "proxy-authenticate"})


@dataclass(frozen=True, slots=True)
class Exchange:
    """`sent` is False only where our own layer proved that no byte left; otherwise True, which means maybe.

    `reached`: nothing, connected, request (all of it was handed to the system), headers, body (a complete reply).
    `headers` have lower-case names. `problem` says why a reply is missing or not to be trusted; None otherwise.
    `replayed`: True or False where the contract names a replay marker, None where it does not.
    """

    reached: Reached
    sent: bool
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    problem: str | None = None
    request_digest: str | None = None
    replayed: bool | None = None

    @property
    def complete(self) -> bool:
        """A whole reply whose content can be trusted to be what the receiver said."""
        return self.reached == "body" and self.problem is None and self.status is not None

    def json(self) -> Any:
        """The body as JSON. Raises ValueError if it is none."""
        return json.loads(self.body)

    def kept(self) -> str:
        """JSON text for the attempt's row: headers without secrets, and the body shortened to 64 KiB."""
        body = self.body[:KEPT]
        try:
            text, encoding = body.decode(), "text"
        except UnicodeDecodeError:
            text, encoding = base64.b64encode(body).decode(), "base64"
        return compact(
            {
                "reached": self.reached,
                "sent": self.sent,
                "status": self.status,
                "headers": {name: value for name, value in self.headers.items() if name not in _NEVER_KEPT},
                "body": text,
                "encoding": encoding,
                "size": len(self.body),
                "problem": self.problem,
                "request_digest": self.request_digest,
                "replayed": self.replayed,
            }
        )

    @classmethod
    def from_kept(cls, text: str) -> "Exchange":
        """The exchange that `kept()` described, with its shortened body."""
        kept = json.loads(text)
        body = kept["body"].encode() if kept["encoding"] == "text" else base64.b64decode(kept["body"])
        if kept["size"] > len(body):
            kept["problem"] = kept["problem"] or "the kept body is shortened"
        names = ("reached", "sent", "status", "headers", "problem", "request_digest", "replayed")
        return cls(body=body, **{name: kept[name] for name in names})
