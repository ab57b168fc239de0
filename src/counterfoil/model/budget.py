"""Limits with an owner: of one run, and of what many runs share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from counterfoil.model.people import Owner


class Scope(StrEnum):
    """What a budget is counted over. Each but the run is shared: every run that it covers draws on the same figures."""

    RUN = "run"
    CONVERSATION = "conversation"
    WORKFLOW = "workflow"
    BUSINESS_DAY = "business_day"  # a calendar day in a named time zone
    OPERATION = "operation"  # all calls of one name: an operation, a tool, a step, an agent that is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one run may use. `attempts`: failed tries in the whole run. `elapsed` does not count waiting for people.

    `spend_usd`: model cost. `tokens`: input and output of accepted model answers. `calls`: how often a tool or an operation
    of this name may be called. None, or a name left out: no limit.
    """

    attempts: int
    elapsed: timedelta
    spend_usd: Decimal | float
    owner: Owner | str
    tokens: int | None = None
    calls: Mapping[str, int] = field(default_factory=dict[str, int])


SharedScope = Literal["conversation", "workflow", "business_day", "operation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBudget:
    """What all runs in a scope may use together, per conversation, workflow, business day or name. None: no limit.

    `elapsed` is the time of its calls of models and receivers and of its steps, added up. `only` names what it covers: workflows in
    the scope workflow, operations, tools or agents in the scope operation; empty is all. `zone` is the IANA time zone of a
    business day; UTC where none is named. Declared with `app.budget`.
    """

    name: str
    scope: SharedScope
    owner: Owner | str
    attempts: int | None = None
    elapsed: timedelta | None = None
    tokens: int | None = None
    spend_usd: Decimal | float | None = None
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    only: frozenset[str] = frozenset()
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class BudgetRecord:
    """One row of `budgets`: the figures of a budget for one run, conversation, workflow, day or name.

    `limits`, `raised`, `used` and `reserved` are JSON objects by kind: attempts, elapsed_us, tokens, spend_micros and
    `calls:NAME`. `limits` are those that the code declared when it was last drawn on; `raised` those that its owner set.
    `unmeasured` counts lost calls: what they held in reserve is in `used`. `owner` is {name, then, within_us}.
    """

    budget_id: str
    number: int
    name: str
    scope: Scope
    key: str
    owner: str
    limits: str
    raised: str
    used: str
    reserved: str
    unmeasured: int
    opened_at: int


@dataclass(frozen=True, slots=True)
class Retry:
    """Tries of one step, the first included; the pause doubles from `pause` up to `longest`."""

    tries: int
    pause: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=5)
