"""What a run may use, and has used."""

from decimal import Decimal
from typing import Any

from counterfoil.model.codec import parsed
from counterfoil.model.run import RunRecord


def budgets_view(run: RunRecord, now: int) -> list[dict[str, Any]]:
    """`[{kind, limit, used, reserved, owner}]`: attempts as a count, elapsed in whole seconds, spend as decimal USD."""
    budget: dict[str, Any] = parsed(run.budget)
    owner = budget["owner"]["name"]
    # A wait for a person does not count, and is added to `waited_us` only when it is over.
    until = run.updated_at if run.state.ended else now if run.waiting_since is None else run.waiting_since
    elapsed = 0 if run.started_at is None else max(0, until - run.started_at - run.waited_us)
    return [
        {"kind": "attempts", "limit": budget["attempts"], "used": run.failed_tries, "reserved": 0, "owner": owner},
        {
            "kind": "elapsed", "limit": budget["elapsed_us"] // 1_000_000, "used": elapsed // 1_000_000, "reserved": 0,
            "owner": owner,
        },
        {
            "kind": "spend", "limit": _usd(budget["spend_micros"]), "used": _usd(run.spent_micros),
            "reserved": _usd(run.reserved_micros), "owner": owner,
        },
    ]  # fmt: skip


def _usd(micros: int) -> str:
    return f"{Decimal(micros) / 1_000_000:f}"
