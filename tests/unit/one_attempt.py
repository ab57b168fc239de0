"""One attempt against a scripted server, for tests."""

import asyncio
from datetime import timedelta
from typing import Any

from counterfoil.model.contract import Contract, IdempotencyKey, Reference, When
from counterfoil.model.exchange import Exchange
from counterfoil.receivers.http import AttemptOver, Reply, Sender
from tests.unit.raw_server import Watched

KEY = IdempotencyKey(
    header="Idempotency-Key", retention=timedelta(hours=24), replay_marker={"Idempotent-Replayed": "true"}
)
CONTRACT = Contract(
    api_version="1",
    key=KEY,
    reference=Reference(header="X-Reference"),
    classifier=[
        When(status=200, body={"ok": False}).means("refused"),
        When(status="2xx").means("applied"),
        When(status=402).means("refused"),
    ],
)
PLAIN = Contract(api_version="1", classifier=[When(status="2xx").means("applied")], procedure="Ask the desk.")


def sender(
    url: str, gate: Watched, *, contract: Contract = CONTRACT, timeout_s: float = 5.0, key: str | None = "op_1-0"
) -> Sender:
    return Sender(
        url=url,
        headers={"Authorization": "Bearer secret"},
        key=key if contract.key else None,
        operation_id="op_1",
        contract=contract,
        gate=gate,
        timeout_s=timeout_s,
    )


def posted(url: str, gate: Watched | None = None, **parts: Any) -> tuple[Reply | AttemptOver, Exchange]:
    """The reply, or what ended the attempt; and the exchange."""
    how = {name: parts.pop(name) for name in ("contract", "timeout_s", "key") if name in parts}
    rest: Any = parts or {"json": {"amount": 1}}
    made = sender(url, gate or Watched(), **how)

    async def one() -> Reply | AttemptOver:
        try:
            return await made.post("/refunds", **rest)
        except AttemptOver as over:
            return over

    end = asyncio.run(one())
    assert made.exchange is not None
    return end, made.exchange
