"""Limits as they are declared: one that could not be kept, or that would limit nothing, is refused before anything runs."""

from collections.abc import Collection, Iterator
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from counterfoil.engine.asking import RESERVE_MICROS
from counterfoil.engine.budgets import OF_RUN
from counterfoil.engine.definitions import Registry
from counterfoil.model.budget import Budget, Scope, SharedBudget
from counterfoil.model.errors import Refused
from counterfoil.model.people import owner_of

BUILT_IN = "ledger"
_NARROWED = (Scope.WORKFLOW, Scope.OPERATION)


def check_limits(name: str, budget: Budget | SharedBudget) -> None:
    """A limit is a number above zero that pays for something, its owner is named, and a business day is one of a known time
    zone. Raises Refused(budget_unfit)."""
    found = _shared(budget) if isinstance(budget, SharedBudget) else _own(budget)
    problem = next(found, None) or next(_figures(budget), None)
    if problem is not None:
        raise Refused("budget_unfit", name=name, problem=problem)


def _figures(budget: Budget | SharedBudget) -> Iterator[str]:
    counts = {"attempts": budget.attempts, "tokens": budget.tokens}
    counts |= {f"calls of {each}": limit for each, limit in budget.calls.items()}
    for kind, count in counts.items():
        if count is not None and (type(count) is not int or count < 1):
            yield f"the limit of {kind} is {count!r}, and no whole number above zero"
    if budget.elapsed is not None and budget.elapsed < timedelta(microseconds=1):
        yield f"the limit of elapsed is {budget.elapsed!r}, and no time above zero"
    if budget.spend_usd is not None and not _micros(budget.spend_usd):
        yield f"the limit of spend_usd is {budget.spend_usd!r}, and no amount above zero"
    if not owner_of(budget.owner).name.strip():
        yield "it names no owner: somebody is asked when it is spent"


def _micros(amount: Decimal | float) -> int:
    """In micro-USD; 0 for what is no amount."""
    try:
        exact = Decimal(str(amount))
    except InvalidOperation:
        return 0
    return max(0, int(exact * 1_000_000)) if exact.is_finite() else 0


def _own(budget: Budget) -> Iterator[str]:
    if 0 < _micros(budget.spend_usd) < RESERVE_MICROS:
        reserve = RESERVE_MICROS / 1_000_000
        yield f"spend_usd is {budget.spend_usd}, and one call of a model holds {reserve:.2f} USD in reserve: none would be made"


def _shared(budget: SharedBudget) -> Iterator[str]:
    only: Any = budget.only  # of a caller without a type checker
    kinds = (budget.attempts, budget.elapsed, budget.tokens, budget.spend_usd)
    if not budget.calls and all(limit is None for limit in kinds):
        yield "it limits nothing"
    if budget.scope not in set(Scope) - {Scope.RUN} or budget.name == OF_RUN:
        yield "its scope is none; what one run may use stands in its workflow's Budget"
    elif isinstance(only, str):
        yield f"only={only!r} is a text; write it as a set of names"
    elif budget.only and budget.scope not in _NARROWED:
        yield f"only narrows the scopes workflow and operation; its scope is {budget.scope}"
    elif not _known_zone(budget.zone):
        yield f"{budget.zone!r} is no time zone that is known here; on a slim image install tzdata"


def _known_zone(name: str) -> bool:
    try:
        return name == "UTC" or bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False


def check_names(registry: Registry) -> None:
    """At start: what a budget names is there. Steps, and the tools of a server, show only when they run: where there may be
    such, nothing is said of a name. Raises Refused(budget_unfit)."""
    workflows = {name for name, _ in registry.workflows}
    given = [
        registry.called[each]() if each in registry.called else None for each in registry.workflows if _runs(each[0])
    ]
    known = [names for names in given if names is not None]
    of_all = frozenset[str]().union(*known, registry.operations, workflows) if len(known) == len(given) else None
    for (name, version), workflow in registry.workflows.items():
        names = registry.called[name, version]() if (name, version) in registry.called else None
        _check(name, workflow.budget.calls, names)
    for budget in registry.budgets.values():
        _check(budget.name, budget.calls, of_all)
        if budget.scope == Scope.WORKFLOW:
            _check(budget.name, budget.only, workflows)
        elif budget.scope == Scope.OPERATION:
            _check(budget.name, budget.only, of_all)


def _runs(workflow: str) -> bool:
    """Whether it is the application's own."""
    return workflow != BUILT_IN


def _check(name: str, named: Collection[str], known: Collection[str] | None) -> None:
    unknown = sorted(set(named) - set(known)) if known is not None else []
    if unknown:
        problem = f"nothing that it covers is called {unknown[0]}; there are {', '.join(sorted(known or ()))}"
        raise Refused("budget_unfit", name=name, problem=problem)
