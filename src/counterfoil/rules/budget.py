"""What is left of a budget. Waiting for people does not count as elapsed; what is in doubt stays reserved."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from counterfoil.model.budget import Budget, Scope, SharedBudget
from counterfoil.model.run import ParkReason, RunRecord

Figures = Mapping[str, int]
"""By kind: attempts, elapsed_us, tokens, spend_micros, `calls:NAME`."""

CALLS = "calls:"
ELAPSED = "elapsed_us"
RESERVE_TOKENS = 2_000  # held back for each call of a model in flight
RESERVE_ELAPSED_US = 60 * 1_000_000  # held back for each call in flight; a lost one counts as so long
FIRST_PAUSE_US, LONGEST_PAUSE_US = 1_000_000, 5 * 60 * 1_000_000  # where nobody said otherwise
LOSSES = 2  # a model call that was lost so often with its worker is not asked again before a person has looked

TIMED = frozenset({"attempts", ELAPSED})  # known only afterwards: spent once the limit is reached


def budget_left(budget: Mapping[str, Any], run: RunRecord, now: int, *, spend_reserve: int = 0) -> ParkReason | None:
    """None while something is left, else the reason to stop. `spend_reserve` is what the next model call may cost, in micro-USD."""
    if run.failed_tries >= budget["attempts"]:
        return ParkReason.BUDGET_ATTEMPTS
    started = run.started_at if run.started_at is not None else now
    if now - started - run.waited_us > budget["elapsed_us"]:
        return ParkReason.BUDGET_ELAPSED
    if spend_reserve and run.spent_micros + run.reserved_micros + spend_reserve > budget["spend_micros"]:
        return ParkReason.BUDGET_SPEND
    return None


def overdrawn(limits: Figures, used: Figures, reserved: Figures, need: Figures) -> str | None:
    """The first kind of which nothing is left for `need`; None while everything is paid for.

    Failed attempts and time are known only once a call is over: they are spent when what is used and reserved reaches the
    limit. Tokens, money and calls are spent when the need would pass it; a need is never more than the whole limit, so that
    the first call is paid for.
    """
    for kind, limit in limits.items():
        if kind not in need:
            continue
        drawn = used.get(kind, 0) + reserved.get(kind, 0)
        wanted = 1 if kind in TIMED else max(1, min(need[kind], limit))
        if drawn + wanted > limit:
            return kind
    return None


def covered(scope: Scope, limits: Figures, figures: Figures) -> dict[str, int]:
    """What a row counts of these figures: what it limits; a shared one also the rest, but for calls of other names."""
    shared = scope is not Scope.RUN
    return {kind: n for kind, n in figures.items() if kind in limits or (shared and not kind.startswith(CALLS))}


def in_force(declared: Figures, raised: Figures) -> dict[str, int]:
    """The limits as they hold: what the code declares, or what the owner raised it to. A raise never makes a limit."""
    return {kind: max(limit, raised.get(kind, 0)) for kind, limit in declared.items()}


def plus(one: Figures, other: Figures) -> dict[str, int]:
    """The sum by kind."""
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in (*one, *(k for k in other if k not in one))}


def minus(one: Figures, other: Figures) -> dict[str, int]:
    """What is left by kind, never below zero; a kind of which nothing is left is left out."""
    left = {kind: amount - other.get(kind, 0) for kind, amount in one.items()}
    return {kind: amount for kind, amount in left.items() if amount > 0}


def measured(held: Figures, known: Figures, elapsed_us: int) -> dict[str, int]:
    """What a call that ended has used: what is known of it, its time, and the call itself where calls are counted."""
    calls = {kind: amount for kind, amount in held.items() if kind.startswith(CALLS)}
    return calls | ({"elapsed_us": max(0, elapsed_us)} if "elapsed_us" in held else {}) | dict(known)


def of_model(called: str | None, spend_micros: int) -> dict[str, int]:
    """What a request to a model holds in reserve that is begun. `called`: the agent that it is a call of."""
    return of_attempt(called or "", first=called is not None) | {"tokens": RESERVE_TOKENS, "spend_micros": spend_micros}


def of_attempt(called: str, *, first: bool) -> dict[str, int]:
    """What a send that is begun holds in reserve. The operation is one call, however often it is tried."""
    return {"attempts": 1, "elapsed_us": RESERVE_ELAPSED_US} | ({CALLS + called: 1} if first else {})


def of_try(called: str, *, first: bool, timed: bool) -> dict[str, int]:
    """What a try of a step needs that is begun: the call, once, and where time is counted, some of it."""
    return ({CALLS + called: 1} if first else {}) | ({ELAPSED: RESERVE_ELAPSED_US} if timed else {})


def tokens_of(usage: Mapping[str, Any]) -> int:
    """Input and output tokens of an accepted answer."""
    return sum(int(usage.get(name) or 0) for name in ("input_tokens", "output_tokens"))


def limits_of(budget: Budget | SharedBudget) -> dict[str, int]:
    """The limits as they are stored. Of a run's budget only those that have a row of their own: tokens and calls."""
    limits = {} if budget.tokens is None else {"tokens": budget.tokens}
    limits |= {CALLS + name: limit for name, limit in budget.calls.items()}
    if isinstance(budget, Budget):
        return limits
    if budget.attempts is not None:
        limits["attempts"] = budget.attempts
    if budget.elapsed is not None:
        limits["elapsed_us"] = int(budget.elapsed.total_seconds() * 1_000_000)
    if budget.spend_usd is not None:
        limits["spend_micros"] = int(Decimal(str(budget.spend_usd)) * 1_000_000)
    return limits


def reason_of(kind: str) -> ParkReason:
    """Under which reason a run is parked that lacks this kind."""
    return _REASONS.get(kind, ParkReason.BUDGET_CALLS)


def kind_of(reason: str) -> str:
    """The kind whose want parks a run under this reason; `calls:` for calls of any name."""
    return next((kind for kind, known in _REASONS.items() if known == reason), CALLS)


_REASONS = {
    "attempts": ParkReason.BUDGET_ATTEMPTS, "elapsed_us": ParkReason.BUDGET_ELAPSED,
    "spend_micros": ParkReason.BUDGET_SPEND, "tokens": ParkReason.BUDGET_TOKENS,
}  # fmt: skip


def day_of(now_us: int, zone: str) -> str:
    """The calendar day of an instant in a time zone, as YYYY-MM-DD."""
    return datetime.fromtimestamp(now_us / 1_000_000, UTC if zone == "UTC" else ZoneInfo(zone)).date().isoformat()


def pause_before(n: int, first_us: int, longest_us: int) -> int:
    """Microseconds to wait before try n + 1 after n failed tries: doubling, bounded."""
    return min(first_us << min(max(n - 1, 0), 40), longest_us)
