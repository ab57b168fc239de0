"""What may be used, and has been used: of a run, and of what runs share."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from counterfoil.app.views.shown import Shown
from counterfoil.engine.budgets import Share, own_id, run_limits, shares_of
from counterfoil.engine.situation import called_of
from counterfoil.model.budget import BudgetRecord, Scope
from counterfoil.model.codec import compact, parsed
from counterfoil.model.moments import rfc3339
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.budget import CALLS, in_force, kind_of, overdrawn

View = dict[str, Any]
_KINDS = {"attempts": "attempts", "elapsed_us": "elapsed", "spend_micros": "spend", "tokens": "tokens"}


def budgets_view(shown: Shown, run: RunRecord) -> list[View]:
    """`[{kind, of, limit, used, reserved, owner, scope, name, key}]` of a run, then of the shared budgets that cover it.

    Attempts, tokens and calls are counts, elapsed is whole seconds, spend decimal USD. `of` names what is called, for calls.
    """
    return [*own_budgets(shown, run), *(line for row in shared_rows(shown, run) for line in _lines(row))]


def own_budgets(shown: Shown, run: RunRecord) -> list[View]:
    """What the run itself may use."""
    budget: View = parsed(run.budget)
    # A wait for a person does not count, and is added to `waited_us` only when it is over.
    until = run.updated_at if run.state.ended else shown.now if run.waiting_since is None else run.waiting_since
    elapsed = 0 if run.started_at is None else max(0, until - run.started_at - run.waited_us)
    used = {"attempts": run.failed_tries, "elapsed_us": elapsed, "spend_micros": run.spent_micros}
    reserved = {"spend_micros": run.reserved_micros}
    row = shown.reader.get(BudgetRecord, own_id(run.run_id)) if len(budget) > 4 else None
    if row is not None:
        used, reserved = parsed(row.used) | used, parsed(row.reserved) | reserved
    return [
        _line(kind, limit, used, reserved, budget["owner"]["name"], Scope.RUN, None, run.run_id)
        for kind, limit in run_limits(budget).items()
    ]


def shared_rows(shown: Shown, run: RunRecord) -> list[BudgetRecord]:
    """The shared budgets that this run draws on, as they stand now: of today, of its conversation, of what it called."""
    registry, parked_for = shown.registry, shown.reader.get(BudgetRecord, run.budget_id) if run.budget_id else None
    found = {} if parked_for is None else {parked_for.budget_id: parked_for}
    if registry is None or not registry.budgets:
        return list(found.values())
    called = {run.workflow, *(called_of(o) for o in shown.reader.find(OperationRecord, "run_id", run.run_id))}
    for name in sorted(called):
        for share in shares_of(registry, run, name, shown.now):
            row = shown.reader.get(BudgetRecord, share.budget_id)
            # Of a name's budget only what was called; the others cover the run whatever it calls.
            if share.scope is not Scope.RUN and (row is not None or share.scope is not Scope.OPERATION):
                found[share.budget_id] = row or _untouched(share, shown.now)
    return list(found.values())


def _untouched(share: Share, now: int) -> BudgetRecord:
    limits, owner = compact(dict(share.limits)), compact(share.owner)
    return BudgetRecord(
        share.budget_id, 0, share.name, share.scope, share.key, owner, limits, "{}", "{}", "{}", 0, now
    )  # fmt: skip


def budget_view(shown: Shown, row: BudgetRecord) -> View:
    """BUDGET: one row of `budgets` with a line for each of its limits."""
    return {
        "budget_id": row.budget_id, "number": row.number, "name": row.name, "scope": row.scope.value, "key": row.key,
        "owner": parsed(row.owner)["name"], "limits": _lines(row), "unmeasured": row.unmeasured,
        "opened_at": rfc3339(row.opened_at), "waiting": [r.run_id for r in _waiting(shown, row)],
    }  # fmt: skip


def _waiting(shown: Shown, row: BudgetRecord) -> Iterable[RunRecord]:
    runs = shown.reader.find(RunRecord, "budget_id", row.budget_id)
    return (run for run in runs if (run.reason or "").startswith("budget_"))


def raised_of(row: BudgetRecord, reason: str) -> str:
    """`KIND=N` for `--raise`: twice the limit of what is lacking, which a person may change."""
    limits = in_force(parsed(row.limits), parsed(row.raised))
    fits = [kind for kind in limits if kind.startswith(kind_of(reason))]
    need = dict.fromkeys(fits, 1)
    lacking = overdrawn({kind: limits[kind] for kind in fits}, parsed(row.used), parsed(row.reserved), need)
    return raise_text(lacking or (fits or list(limits))[0], limits)


def raise_text(kind: str, limits: Mapping[str, int]) -> str:
    """One raise to twice the limit, as it is typed."""
    name = _KINDS.get(kind, kind)
    if kind == "spend_micros":
        return f"{name}={2 * limits[kind] / 1_000_000:g}"
    return f"{name}={2 * max(limits[kind] // (1_000_000 if kind == 'elapsed_us' else 1), 1)}"


def _lines(row: BudgetRecord) -> list[View]:
    limits = in_force(parsed(row.limits), parsed(row.raised))
    owner, used, reserved = parsed(row.owner)["name"], parsed(row.used), parsed(row.reserved)
    return [
        _line(kind, limit, used, reserved, owner, row.scope, row.name, row.key) for kind, limit in limits.items()
    ]  # fmt: skip


def _line(
    kind: str, limit: int, used: Mapping[str, int], reserved: Mapping[str, int], owner: str, scope: Scope, name: str | None,
    key: str,
) -> View:  # fmt: skip
    calls = kind.startswith(CALLS)
    return {
        "kind": "calls" if calls else _KINDS[kind], "of": kind.removeprefix(CALLS) if calls else None,
        "limit": _shown(kind, limit), "used": _shown(kind, used.get(kind, 0)), "reserved": _shown(kind, reserved.get(kind, 0)),
        "owner": owner, "scope": scope.value, "name": name, "key": key,
    }  # fmt: skip


def _shown(kind: str, amount: int) -> int | str:
    if kind == "spend_micros":
        return f"{Decimal(amount) / 1_000_000:f}"
    return amount // 1_000_000 if kind == "elapsed_us" else amount
