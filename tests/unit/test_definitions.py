"""What a user registers: names, owners, keys, signatures, and what is refused with which code."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from counterfoil.engine.definitions import (
    Env,
    Operation,
    Registry,
    Step,
    Workflow,
    dumped,
    loaded,
    signature_of,
    step,
    step_of,
)
from counterfoil.model.budget import Budget, Retry
from counterfoil.model.contract import Contract, When
from counterfoil.model.errors import Refused
from counterfoil.model.people import Owner
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewBy

CONTRACT = Contract(api_version="1", classifier=[When(status="2xx").means("applied")])
BUDGET = Budget(attempts=1, elapsed=timedelta(days=1), spend_usd=1, owner="ops")


class Order(BaseModel):
    number: int
    lines: tuple[str, ...] = ()
    folder: Path = Path("x")


async def send(call: object, order: Order) -> Receipt:
    return Receipt(reference=str(order.number))


def operation(**changed: Any) -> Operation[Any, Any]:
    facts: dict[str, Any] = {"business_key": None, "repeatable": False, "review": None, "owner": "ops"}
    return Operation(**{"name": "send", "function": send, "receiver": "shop", "contract": CONTRACT} | facts | changed)


def key_by_function(order: Order) -> int:
    return order.number * 10


@pytest.mark.parametrize(("business_key", "key"), [(None, None), ("number", "7"), (key_by_function, "70")])
def test_a_business_key_is_a_field_or_what_a_function_says(business_key: Any, key: str | None) -> None:
    assert operation(business_key=business_key).key_of(Order(number=7)) == key


def test_an_action_is_the_contracts_word_or_the_operations_name() -> None:
    assert operation().action == "send"
    named = Contract(api_version="1", action="mail.send", classifier=CONTRACT.classifier)
    assert operation(contract=named).action == "mail.send"


@pytest.mark.parametrize(
    ("owner", "facts"),
    [
        ("lead", {"name": "lead", "within_us": 24 * 3600 * 10**6, "then": None}),
        (
            Owner("lead", within=timedelta(hours=4), then="ops"),
            {"name": "lead", "within_us": 4 * 3600 * 10**6, "then": "ops"},
        ),
    ],
)
def test_a_review_is_kept_as_json_with_its_times_in_microseconds(owner: Owner | str, facts: dict[str, Any]) -> None:
    review = ReviewBy(role="manager", expires_in=timedelta(hours=8), owner=owner)
    assert operation(review=review).review_facts() == {
        "role": "manager",
        "expires_us": 8 * 3600 * 10**6,
        "owner": facts,
        "approvals": 1,
    }
    assert operation().review_facts() is None


@step(retry=Retry(tries=3), timeout=timedelta(seconds=5), name="told")
def marked(number: int) -> int:
    return number


@step()
async def unnamed(number: int) -> int:
    return number


class Callee:
    def __call__(self, number: int) -> int:
        return number


def test_a_step_stays_a_function_and_says_how_it_runs() -> None:
    assert marked(3) == 3
    assert step_of(marked) == Step("told", Retry(tries=3), timedelta(seconds=5))
    assert step_of(unnamed) == Step("unnamed")


def inner() -> Callable[[], None]:
    def plain() -> None: ...

    return plain


@pytest.mark.parametrize(
    ("function", "name"), [(inner(), "plain"), (Callee.__call__, "__call__"), (Callee(), "Callee")]
)
def test_a_function_without_the_decorator_has_the_name_it_is_written_under(function: Any, name: str) -> None:
    assert step_of(function) == Step(name)


def test_a_call_is_bound_by_position_however_it_was_written() -> None:
    def target(one: int, two: Path = Path("y"), *, three: Order) -> None: ...

    signature = signature_of(target)
    order = Order(number=1, lines=("a",))
    plain = {"number": 1, "lines": ["a"], "folder": "x"}
    assert signature.bind((1, Path("z")), {"three": order}) == [1, "z", plain]
    assert signature.bind((), {"three": order, "two": Path("z"), "one": 1}) == [1, "z", plain]
    assert signature.bind((1,), {"three": order}) == [1, plain]  # a default is not what the caller said


def missing_parameter(order) -> int:  # type: ignore[no-untyped-def]
    return order


def missing_result(order: Order):  # type: ignore[no-untyped-def]
    return order


def variable(*orders: Order) -> int:
    return len(orders)


def by_names(**orders: Order) -> int:
    return len(orders)


def unknown(order: "Nowhere") -> int:  # type: ignore[name-defined]  # noqa: F821
    return 1


REFUSED = {
    missing_parameter: "parameter order",
    missing_result: "its result",
    variable: "*orders",
    by_names: "*orders",
    unknown: "Nowhere",
}


@pytest.mark.parametrize("function", REFUSED)
def test_a_missing_type_is_refused_naming_it(function: Any) -> None:
    with pytest.raises(Refused) as refused:
        signature_of(function)
    assert refused.value.code == "type_missing"
    assert REFUSED[function] in refused.value.message
    assert function.__name__ in refused.value.message


def test_leading_parameters_of_ours_need_no_type() -> None:
    def given(call, order: Order) -> Receipt:  # type: ignore[no-untyped-def]
        return Receipt(reference=str(call))

    assert [name for name, _ in signature_of(given, skip=1).inputs] == ["order"]


def test_values_go_through_their_types_both_ways() -> None:
    _, adapter = signature_of(send, skip=1).inputs[0]
    order = Order(number=1, lines=("a", "b"), folder=Path("a/b"))
    plain = dumped(adapter, order, where="order")
    assert plain == {"number": 1, "lines": ["a", "b"], "folder": "a/b"}
    assert loaded(adapter, plain, where="order") == order


@pytest.mark.parametrize("value", ["x", {"number": "x"}, {"number": 1, "lines": "ab"}, [], None])
def test_what_does_not_fit_its_type_is_refused_naming_where(value: Any) -> None:
    _, adapter = signature_of(send, skip=1).inputs[0]
    with pytest.raises(Refused) as refused:
        loaded(adapter, value, where="the payload of send")
    assert refused.value.code == "invalid_payload"
    assert "the payload of send" in refused.value.message
    assert "errors.pydantic.dev" not in refused.value.message


def test_what_is_not_what_it_says_is_refused_and_never_guessed() -> None:
    _, adapter = signature_of(marked).inputs[0]
    with pytest.raises(Refused) as refused:
        dumped(adapter, "seven", where="number")
    assert refused.value.code == "unserializable"


def workflow(name: str, version: int) -> Workflow[Any, Any]:
    return Workflow(name, version, send, BUDGET)


def test_versions_live_side_by_side_and_the_newest_takes_new_runs() -> None:
    registry = Registry("shop")
    for version in (2, 10, 9):
        registry.add_workflow(workflow("buy", version))
    assert registry.newest("buy").version == 10


def test_a_name_is_registered_once() -> None:
    registry = Registry("shop")
    registry.add_operation(operation())
    registry.add_workflow(workflow("buy", 1))
    for again in (lambda: registry.add_operation(operation()), lambda: registry.add_workflow(workflow("buy", 1))):
        with pytest.raises(Refused) as refused:
            again()
        assert refused.value.code == "name_taken"


@pytest.mark.parametrize(
    ("names", "known"), [((), "none"), (("ledger",), "none"), (("buy", "ask", "ledger"), "ask, buy")]
)
def test_an_unknown_workflow_names_those_there_are(names: tuple[str, ...], known: str) -> None:
    registry = Registry("shop")
    for name in names:
        registry.add_workflow(workflow(name, 1))
    with pytest.raises(Refused) as refused:
        registry.newest("by")
    assert refused.value.code == "unknown_workflow"
    assert known in str(refused.value)


def test_a_value_of_the_environment_is_named_and_not_read() -> None:
    assert Env("SHOP_URL", "http://127.0.0.1") == Env("SHOP_URL", "http://127.0.0.1")
    assert Env("SHOP_URL").default is None
