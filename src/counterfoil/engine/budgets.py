"""Budgets as verbs draw on them: which rows a call draws on, whether they pay for it, what it holds, and what it has used.

A call that is begun holds its reserve in every budget that covers it, and the run remembers that (`draws`). What ended gives
its reserve back and leaves what it used. A call that was lost, or failed so that nobody knows what it cost, keeps its
reserve as used: it is counted as unmeasured.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from counterfoil.engine.definitions import Registry
from counterfoil.model import ids
from counterfoil.model.budget import BudgetRecord, Scope, SharedBudget
from counterfoil.model.codec import compact, parsed
from counterfoil.model.errors import Refused
from counterfoil.model.people import owner_facts, owner_of
from counterfoil.model.run import BUDGET_REASONS, ParkReason, RunRecord
from counterfoil.rules.budget import (
    CALLS,
    Figures,
    budget_left,
    covered,
    day_of,
    in_force,
    kind_of,
    limits_of,
    measured,
    minus,
    overdrawn,
    plus,
    reason_of,
)
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

CONVERSATION = "conversation"  # in the budget of a run that another one began: whose conversation it draws on
OF_RUN = "run"  # the name of the rows that hold what one run may use
WORDS = {"attempts": "failed attempts", "elapsed_us": "elapsed time", "tokens": "tokens", "spend_micros": "money"}


@dataclass(frozen=True, slots=True)
class Share:
    """One row that a call draws on, there already or not. `limits` as declared by the code at hand; `owner` as JSON facts."""

    name: str
    scope: Scope
    key: str
    limits: Figures
    owner: dict[str, Any]

    @property
    def budget_id(self) -> str:
        return ids.derived("bud", self.name, self.key)

    @property
    def where(self) -> str:
        """In words: whose figures these are."""
        return (
            "of this run" if self.scope is Scope.RUN else f"{self.name!r} ({self.scope.replace('_', ' ')} {self.key})"
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """Why a call is not paid for, and who may raise that. `budget_id` is None where the run's own limits say so."""

    reason: ParkReason
    sentence: str
    owner: dict[str, Any]
    budget_id: str | None = None
    raised: str = "{}"  # what its owner had raised it to by then


def own_id(run_id: str) -> str:
    """The row of what one run may use."""
    return ids.derived("bud", OF_RUN, run_id)


def conversation_of(run: RunRecord) -> str | None:
    """The conversation that a run belongs to: its turn names it in its input, and hands it on to the runs that it begins.
    None for a run that is neither."""
    handed_on: str | None = parsed(run.budget).get(CONVERSATION) if f'"{CONVERSATION}"' in run.budget else None
    if handed_on is not None:
        return handed_on
    given: Any = parsed(run.input) if '"conversation"' in run.input else None
    found = cast("dict[str, Any]", given).get("conversation") if isinstance(given, dict) else None
    return found if isinstance(found, str) and found else None


def handed_on(budget: dict[str, Any], parent: RunRecord) -> dict[str, Any]:
    """The budget of a run that another one begins: it is for the same conversation."""
    conversation = conversation_of(parent)
    return budget if conversation is None else budget | {CONVERSATION: conversation}


def shares_of(registry: Registry, run: RunRecord, called: str, now: int) -> tuple[Share, ...]:
    """Every budget that a call of this name draws on. The business day is the one in which it is asked for (`now`)."""
    budget = budget_of(run)
    own = own_limits(budget)
    shares = [Share(OF_RUN, Scope.RUN, run.run_id, own, budget["owner"])] if own else []
    for shared in registry.budgets.values():
        key = _key(shared, run, called, now)
        if key is not None:
            facts = owner_facts(owner_of(shared.owner))
            shares.append(Share(shared.name, Scope(shared.scope), key, limits_of(shared), facts))
    return tuple(shares)


def draws_on_none(registry: Registry, run: RunRecord) -> bool:
    """Whether no call of the run draws on any budget that has a row, as for most runs."""
    return not registry.budgets and not own_limits(budget_of(run))


def budget_of(run: RunRecord) -> Mapping[str, Any]:
    """A run's own budget, to be read only: runs of one workflow share what was parsed."""
    return _budget_in(run.budget)


@lru_cache(maxsize=256)
def _budget_in(text: str) -> Mapping[str, Any]:
    # Every step asks what is left of it; nearly all runs of a workflow have the same.
    read: dict[str, Any] = parsed(text)
    return read


def own_limits(budget: Mapping[str, Any]) -> dict[str, int]:
    """The limits of a run's own budget that have a row: tokens, and calls by name."""
    tokens: dict[str, int] = {"tokens": budget["tokens"]} if budget.get("tokens") is not None else {}
    return tokens | {CALLS + name: limit for name, limit in budget.get("calls", {}).items()}


def run_limits(budget: Mapping[str, Any]) -> dict[str, int]:
    """All limits of a run's own budget, by kind."""
    return {kind: budget[kind] for kind in ("attempts", "elapsed_us", "spend_micros")} | own_limits(budget)


def higher(budget: dict[str, Any], raises: dict[str, int]) -> dict[str, Any]:
    """The budget with higher limits. A kind without a limit gets none."""
    limits = run_limits(budget)
    raised = {kind: max(limits[kind], amount) for kind, amount in raises.items() if kind in limits}
    calls = {kind.removeprefix(CALLS): amount for kind, amount in raised.items() if kind.startswith(CALLS)}
    rest = {kind: amount for kind, amount in raised.items() if not kind.startswith(CALLS)}
    return budget | rest | ({"calls": budget["calls"] | calls} if calls else {})


def check_raised(run: RunRecord, raises: Mapping[str, int]) -> None:
    """Of a parked run whose own budget is spent. A shared one is raised by its own verb, or another day has begun: the run
    asks again. Raises Refused(budget_not_raised)."""
    if run.reason not in BUDGET_REASONS or run.budget_id is not None:
        return
    needed, limits = kind_of(run.reason or ""), run_limits(parsed(run.budget))
    if not any(kind.startswith(needed) and amount > limits.get(kind, 0) for kind, amount in raises.items()):
        raise Refused("budget_not_raised", kind=needed.strip(":").partition("_")[0], run_id=run.run_id)


def parked_for(spent: Spent | None) -> tuple[str, ...]:
    """The shared budget that a park is for."""
    return () if spent is None or spent.budget_id is None else (spent.budget_id,)


def _key(shared: SharedBudget, run: RunRecord, called: str, now: int) -> str | None:
    """Whose figures this run and call draw on; None where the budget does not cover them."""
    match Scope(shared.scope):
        case Scope.CONVERSATION:
            return conversation_of(run)
        case Scope.BUSINESS_DAY:
            return day_of(now, shared.zone)
        case Scope.WORKFLOW:
            key = run.workflow
        case _:
            key = called
    return key if not shared.only or key in shared.only else None


def share_reads(shares: Iterable[Share], held: Iterable[str] = ()) -> tuple[Read, ...]:
    """The rows of these shares, and of what is still held."""
    return tuple(Read.key(BudgetRecord, each) for each in dict.fromkeys([*(s.budget_id for s in shares), *held]))


def held_by(run: RunRecord, calls: Collection[str] | None = None) -> tuple[str, ...]:
    """The budgets in which a run's calls hold something; None: all of its calls."""
    draws: dict[str, Any] = parsed(run.draws) if run.draws else {}
    found = (each for call, draw in draws.items() if calls is None or call in calls for each in draw["of"])
    return tuple(dict.fromkeys(found))


def calls_of(run: RunRecord) -> tuple[str, ...]:
    """The calls of a run that hold something."""
    return tuple(parsed(run.draws)) if run.draws else ()


# ------------------------------------------------------------------ in the transaction


def spent_in(tx: Transaction, run: RunRecord, shares: Iterable[Share], need: Figures) -> Spent | None:
    """Whether something is lacking for one more call. Nothing is written."""
    rows = {share.budget_id: tx.get(BudgetRecord, share.budget_id) for share in shares}
    return spent_by(rows, run, shares, need, tx.now)


def spent_by(
    rows: Mapping[str, BudgetRecord | None], run: RunRecord, shares: Iterable[Share], need: Figures, now: int
) -> Spent | None:
    """The same of rows that were read already, by budget id."""
    budget = budget_of(run)
    own = budget_left(budget, run, now, spend_reserve=need.get("spend_micros", 0))
    if own is not None:
        return Spent(own, "", budget["owner"])
    for share in shares:
        row = rows[share.budget_id]
        raised: dict[str, int] = {} if row is None else parsed(row.raised)
        limits = in_force(own_limits(budget) if share.scope is Scope.RUN else share.limits, raised)
        used: dict[str, int] = {} if row is None else parsed(row.used)
        reserved: dict[str, int] = {} if row is None else parsed(row.reserved)
        kind = overdrawn(limits, used, reserved, need)
        if kind is not None:
            return _spent(share, kind, limits[kind], row)
    return None


def _spent(share: Share, kind: str, limit: int, row: BudgetRecord | None) -> Spent:
    what = WORDS.get(kind) or f"calls of {kind.removeprefix(CALLS)}"
    sentence = f"Spent: {what} {share.where}; the limit is {shown(kind, limit)}."
    if share.scope is Scope.RUN:
        return Spent(reason_of(kind), sentence, share.owner)
    return Spent(reason_of(kind), sentence, share.owner, share.budget_id, "{}" if row is None else row.raised)


def shown(kind: str, amount: int) -> str:
    """An amount in the unit in which people read it: seconds, USD, or a count."""
    if kind == "elapsed_us":
        return f"{amount // 1_000_000} s"
    return f"{amount / 1_000_000:g} USD" if kind == "spend_micros" else str(amount)


def raised_since(tx: Transaction, spent: Spent | None) -> bool:
    """Somebody raised the shared budget after it was found spent: whoever did could not wake the run yet."""
    row = None if spent is None or spent.budget_id is None else tx.get(BudgetRecord, spent.budget_id)
    return spent is not None and row is not None and row.raised != spent.raised


def hold(tx: Transaction, run: RunRecord, shares: Iterable[Share], call: str, need: Figures) -> RunRecord:
    """Reserve what a call may use. `call` names it within its run. Gives the run that remembers it, to be put."""
    of = [_changed(tx, share, reserved=need).budget_id for share in shares]
    if not of:
        return run
    draws: dict[str, Any] = parsed(run.draws) if run.draws else {}
    draws[call] = {"at": tx.now, "of": of, "held": dict(need)}
    return replace(run, draws=compact(draws))


def let_go(tx: Transaction, run: RunRecord, call: str, known: Figures | None, named: Collection[str]) -> RunRecord:
    """A call is over, and `known` is what is known of its use; None: it is lost, and its reserve is what it used.

    `named` are the rows that this verb reads: what is held elsewhere stays held until the run ends.
    """
    draws: dict[str, Any] = parsed(run.draws) if run.draws else {}
    draw = draws.pop(call, None)
    if draw is None:
        return run
    used = draw["held"] if known is None else measured(draw["held"], known, tx.now - draw["at"])
    for each in draw["of"]:
        row = tx.must(BudgetRecord, each) if each in named else None
        if row is not None:
            left = minus(parsed(row.reserved), draw["held"])
            total = compact(plus(parsed(row.used), covered(row.scope, parsed(row.limits), used)))
            tx.put(replace(row, reserved=compact(left), used=total, unmeasured=row.unmeasured + int(known is None)))
    rest = [each for each in draw["of"] if each not in named]
    if rest:
        draws[call] = draw | {"of": rest}
    return replace(run, draws=compact(draws) if draws else None)


def use(tx: Transaction, shares: Iterable[Share], amount: Figures) -> None:
    """Count what needs no reserve: it is over already, or certain."""
    for share in shares:
        _changed(tx, share, used=amount)


def _changed(
    tx: Transaction, share: Share, *, used: Figures | None = None, reserved: Figures | None = None
) -> BudgetRecord:
    """The share's row with more used or reserved, made where it is not there yet."""
    row = tx.get(BudgetRecord, share.budget_id) or BudgetRecord(
        share.budget_id, tx.number("budget"), share.name, share.scope, share.key, "", "{}", "{}", "{}", "{}", 0, tx.now,
    )  # fmt: skip
    row = replace(
        row,
        owner=compact(share.owner),
        limits=compact(dict(share.limits)),
        used=compact(plus(parsed(row.used), covered(share.scope, share.limits, used or {}))),
        reserved=compact(plus(parsed(row.reserved), covered(share.scope, share.limits, reserved or {}))),
    )
    tx.put(row)
    return row
