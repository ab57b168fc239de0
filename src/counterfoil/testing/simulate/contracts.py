"""The contracts of the simulated receiver: one for every kind of second request and of list, in seconds instead of hours."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from counterfoil.engine.port import Ask
from counterfoil.model.contract import Contract, Found, IdempotencyKey, Lookup, Reference, Rule, Seen, When
from counterfoil.model.receipt import Receipt
from counterfoil.testing.simulate.receiver import Habits

TIMEOUT_S, LATE_S, VISIBLE_S = 10, 20, 25
REVIEWED, PAIRED = ("keyed", "both", "listed", "mute"), ("keyed", "listed")


class Order(BaseModel):
    """What is written. `number` names the intention."""

    number: str
    amount: int


Find = Callable[[Ask, Order], Coroutine[Any, Any, Seen[Receipt]]]

HABITS: Mapping[str, Habits] = {
    "keyed": Habits(key=True),
    "first_only": Habits(key=True, saves=frozenset({2})),
    "locked": Habits(key=True, lock_timeout=60.0),
    "replaying": Habits(key=True, other_body="replays"),
    "both": Habits(key=True, lookup=True, lag=22.0),
    "listed": Habits(lookup=True, lag=22.0),
    "blind": Habits(lookup=True, lag=22.0),
    "absent": Habits(chosen_id=True),
    "mute": Habits(),
    "loose": Habits(key=True),
}
"""By the contract's name: how the receiver really behaves."""

BARE: Sequence[Rule] = (When(status="2xx").means("applied"), When(status={400, 402, 422}).means("refused"))
_BUSY = When(status=409, body={"error": "in_progress"}).means("in_progress")
_POISONED = When(status="5xx", header={"idempotent-replayed": "true"}).means("key_poisoned")
_MISMATCH = When(status=422, body={"error": "key_mismatch"}).means("key_mismatch")
UNDER_KEY: Sequence[Rule] = (_BUSY, _POISONED, *BARE)
REJECTING: Sequence[Rule] = (_MISMATCH, *UNDER_KEY)


def names() -> tuple[str, ...]:
    """Every operation: the contract's name, `_reviewed` where one person approves it, `_paired` where two do."""
    return (*HABITS, *(f"{name}_reviewed" for name in REVIEWED), *(f"{name}_paired" for name in PAIRED))


def base_of(operation: str) -> str:
    """The name of its contract."""
    return operation.removesuffix("_reviewed").removesuffix("_paired")


def approvals_of(operation: str) -> int:
    """How many different people must approve it."""
    return 2 if operation.endswith("_paired") else int(operation.endswith("_reviewed"))


def contract_of(operation: str) -> Contract:
    """What the ledger is told of it. Raises KeyError for an unknown name."""
    base = base_of(operation)
    find = _finder(operation)
    given: dict[str, dict[str, Any]] = {
        "keyed": {"key": _key()},
        "first_only": {"key": _key(saves={"2xx"}), "classifier": (_MISMATCH, _BUSY, *BARE)},
        "locked": {"key": _key(lock_timeout=timedelta(seconds=60))},
        "replaying": {"key": _key(other_body="replays"), "classifier": UNDER_KEY},
        "both": {"key": _key(), "lookup": _lookup(find)},
        "listed": {"lookup": _lookup(find), "classifier": BARE},
        "blind": {"lookup": _lookup(find, absence_authorises=False), "classifier": BARE},
        "absent": {"precondition": "create_if_absent", "classifier": BARE},
        "mute": {"classifier": BARE},
        "loose": {"key": _key(), "duplicate": "benign"},
    }
    usual: dict[str, Any] = {
        "api_version": "1", "classifier": REJECTING, "before_execution": {503}, "duplicate": "costly",
        "request_timeout": timedelta(seconds=TIMEOUT_S), "reference": Reference(header="Counterfoil-Operation"),
        "procedure": "Look into the receiver's list.",
    }  # fmt: skip
    return Contract(**(usual | given[base]))


def _key(**given: Any) -> IdempotencyKey:
    usual: dict[str, Any] = {
        "header": "Idempotency-Key", "retention": timedelta(seconds=240), "margin": timedelta(seconds=5),
        "arrives_within": timedelta(seconds=LATE_S), "saves": {"2xx", "4xx", "5xx"}, "other_body": "rejects",
        "replay_marker": {"idempotent-replayed": "true"}, "in_progress": "status",
    }  # fmt: skip
    return IdempotencyKey(**(usual | given))


def _lookup(find: Find, **given: Any) -> Lookup:
    usual: dict[str, Any] = {
        "consistency": "strong", "visible_within": timedelta(seconds=VISIBLE_S),
        "arrives_within": timedelta(seconds=LATE_S), "finds_by": "operation_id", "pause": timedelta(seconds=5),
    }  # fmt: skip
    return Lookup(find, **(usual | given))


def _finder(operation: str) -> Find:
    async def find(ask: Ask, order: Order) -> Seen[Receipt]:
        page = (await ask.http.get(f"/{operation}", params={"reference": ask.operation_id})).json()
        found = [
            Found(Receipt(reference=each["id"]), payload=Order(number=each["number"], amount=each["amount"]))
            for each in page["data"]
        ]
        return Seen(found, complete=True)

    return find
