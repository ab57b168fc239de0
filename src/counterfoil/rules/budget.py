"""What is left of a run's budget. Waiting for people does not count as elapsed."""

from typing import Any

from counterfoil.model.run import ParkReason, RunRecord


def budget_left(budget: dict[str, Any], run: RunRecord, now: int, *, spend_reserve: int = 0) -> ParkReason | None:
    """None while something is left, else the reason to stop. `spend_reserve` is what the next model call may cost, in micro-USD."""
    if run.failed_tries >= budget["attempts"]:
        return ParkReason.BUDGET_ATTEMPTS
    started = run.started_at if run.started_at is not None else now
    if now - started - run.waited_us > budget["elapsed_us"]:
        return ParkReason.BUDGET_ELAPSED
    if spend_reserve and run.spent_micros + run.reserved_micros + spend_reserve > budget["spend_micros"]:
        return ParkReason.BUDGET_SPEND
    return None


FIRST_PAUSE_US, LONGEST_PAUSE_US = 1_000_000, 5 * 60 * 1_000_000  # where nobody said otherwise


def pause_before(n: int, first_us: int, longest_us: int) -> int:
    """Microseconds to wait before try n + 1 after n failed tries: doubling, bounded."""
    return min(first_us << min(max(n - 1, 0), 40), longest_us)
