"""What every connector does with its contract and its function: an operation of the user's application."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Call
from counterfoil.model.contract import Contract
from counterfoil.model.people import Owner
from counterfoil.model.review import ReviewBy
from counterfoil.receivers.catalogue import contract

P = TypeVar("P")
R = TypeVar("R")


class Governed(TypedDict, total=False):
    """Who answers for the operation, as `app.operation` takes it. `business_key` is the payload's `number`, if not given."""

    business_key: str | Callable[[Any], str]
    repeatable: bool
    review: ReviewBy
    owner: Owner | str


class Declares(Protocol):
    """An `App`, or whatever registers operations as it does."""

    @property
    def operation(self) -> Callable[..., Callable[[Any], Operation[Any, Any]]]:
        """`app.operation`."""
        ...


def contract_of(
    entry: str,
    *,
    action: str,
    find: Callable[[Any, Any], Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Contract:
    """The catalogue's contract for one action. `find`: the connector's lookup. `overrides`: what the account knows better.

    Raises Refused(contract_contradiction).
    """
    return replace(contract(entry, find=find, overrides=overrides), action=action)


def declared(
    app: Declares,
    function: Callable[[Call, P], Coroutine[Any, Any, R] | R],
    kept: Contract,
    receiver: str,
    **governed: Unpack[Governed],
) -> Operation[P, R]:
    """Register the function under the contract. Raises Refused as `app.operation` does: name_taken, no_owner ..."""
    if "business_key" not in governed and not governed.get("repeatable", False):
        governed["business_key"] = "number"
    return app.operation(receiver=receiver, contract=kept, **governed)(function)
