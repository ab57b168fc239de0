"""What a payload marks as money and target, and what is refused at start."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from counterfoil import Money, Target
from counterfoil.engine.marking import Marks, marks_of
from counterfoil.model.errors import Refused
from counterfoil.model.money import Amount, digits_of, is_currency

Cents = Annotated[int, Money("EUR")]


class Fixed(BaseModel):
    charge: Annotated[str, Target()]
    amount: Annotated[int, Money("EUR")]


class Named(BaseModel):
    amount: Annotated[Decimal | None, Money(currency="currency")] = None
    currency: Literal["eur", "JPY", "KWD", "euro"] | None = "eur"
    customer: Annotated[int | None, Target()] = None


@dataclass
class Plain:
    amount: Annotated[Decimal, Money("USD")]


class Typed(TypedDict):
    amount: Cents


class Unmarked(BaseModel):
    amount: int


def of(payload: Any) -> Marks:
    async def pay(call: object, payload: Any) -> None: ...

    pay.__annotations__["payload"] = payload
    return marks_of(pay)


def test_a_fixed_currency_counts_minor_units() -> None:
    payload = Fixed(charge="ch_1", amount=1250)
    assert of(Fixed).amount_in(payload, name="pay") == Amount(1250, "EUR")
    assert of(Fixed).target_in(payload) == "ch_1"


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [("12.50", "eur", 1250), ("12", "JPY", 12), ("1.234", "KWD", 1234), ("0", "eur", 0)],
)
def test_a_decimal_in_the_currency_of_another_field(amount: str, currency: Any, minor: int) -> None:
    payload = Named(amount=Decimal(amount), currency=currency, customer=7)
    assert of(Named).amount_in(payload, name="pay") == Amount(minor, currency.upper())
    assert of(Named).target_in(payload) == "7"


def test_what_is_not_given_is_nothing() -> None:
    assert (of(Named).amount_in(Named(), name="pay"), of(Named).target_in(Named())) == (None, None)
    assert (of(Unmarked), of(int), of(dict[str, int])) == (Marks(), Marks(), Marks())
    assert Marks().amount_in(1, name="pay") is None
    assert Marks().target_in(1) is None


def test_dataclasses_and_typed_dictionaries_are_marked_as_well() -> None:
    assert of(Plain).amount_in(Plain(Decimal("0.01")), name="pay") == Amount(1, "USD")
    assert of(Typed).amount_in({"amount": 5}, name="pay") == Amount(5, "EUR")


@pytest.mark.parametrize(
    ("amount", "currency", "problem"),
    [
        ("12.505", "eur", "finer than EUR"),
        ("0.1", "JPY", "finer than JPY"),
        ("NaN", "eur", "finer"),
        ("Infinity", "eur", "finer"),
        ("-1", "eur", "below zero"),
        ("99999999999999999", "eur", "larger than can be stored"),
        ("1", "euro", "no currency code"),
        ("1", None, "no currency code"),
    ],
)
def test_an_amount_that_cannot_be_told_is_refused(amount: str, currency: Any, problem: str) -> None:
    payload = Named.model_construct(amount=Decimal(amount), currency=currency)
    with pytest.raises(Refused) as refused:
        of(Named).amount_in(payload, name="pay")
    assert (refused.value.code, problem in refused.value.message) == ("invalid_payload", True)


class TwoAmounts(BaseModel):
    one: Cents
    other: Cents


class TwoTargets(BaseModel):
    one: Annotated[str, Target()]
    other: Annotated[str, Target()]


class Floating(BaseModel):
    amount: Annotated[float, Money("EUR")]


class Either(BaseModel):
    amount: Annotated[int | Decimal, Money("EUR")]


class Flag(BaseModel):
    amount: Annotated[bool, Money("EUR")]


class NoSuchField(BaseModel):
    amount: Annotated[int, Money("currency")]


class CurrencyNumber(BaseModel):
    amount: Annotated[int, Money("currency")]
    currency: int


class CurrencyNumbers(BaseModel):
    amount: Annotated[int, Money("currency")]
    currency: Literal[978]


class Inside(BaseModel):
    amounts: list[Cents]


class InsideOptional(BaseModel):
    amount: Cents | None


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (TwoAmounts, "Money marks one and other; one field is marked"),
        (TwoTargets, "Target marks one and other; one field is marked"),
        (Floating, "amount is neither int (minor units) nor Decimal"),
        (Either, "amount is neither int (minor units) nor Decimal"),
        (Flag, "amount is neither int (minor units) nor Decimal"),
        (NoSuchField, "'currency' is neither a currency code nor a field of the payload"),
        (CurrencyNumber, "the currency's field currency is no text"),
        (CurrencyNumbers, "the currency's field currency is no text"),
        (Inside, "the mark of amounts stands inside another type; mark the field itself"),
        (InsideOptional, "the mark of amount stands inside another type; mark the field itself"),
        (Cents, "the payload itself is marked; mark a field of it"),
    ],
)
def test_a_wrong_mark_is_refused_at_start(payload: Any, problem: str) -> None:
    with pytest.raises(Refused) as refused:
        of(payload)
    assert (refused.value.code, refused.value.details["problem"]) == ("money_marking", problem)


def test_currencies() -> None:
    assert [is_currency(code) for code in ("EUR", "eur", "EURO", "E1R", "ÄÖÜ", "")] == [True] + [False] * 5
    assert [digits_of(code) for code in ("EUR", "JPY", "KWD", "CLF", "XYZ")] == [2, 0, 3, 4, 2]
