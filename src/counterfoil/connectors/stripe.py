"""Stripe, API v1: payment intents and refunds. Our key makes a repeat harmless for a day; our id stands in the metadata.

app.receiver("stripe", url="https://api.stripe.com", credential=Bearer(Env("STRIPE_KEY")), environment="live")
refund = stripe.refund(app, receiver="stripe", owner="payments-oncall")
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Unpack

from pydantic import BaseModel

from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen
from counterfoil.model.money import Money, Target
from counterfoil.model.receipt import Receipt

ENTRY = "stripe_v1"
PAGE = 100
CLOCKS = timedelta(hours=1)  # by so much the two sides' clocks may differ


class Refund(BaseModel):
    """So much of a charge (`ch_...`) goes back. `number`: yours. `amount`: in the smallest unit of `currency`."""

    number: str
    charge: Annotated[str, Target()]
    amount: Annotated[int, Money(currency="currency")]
    currency: str
    reason: Literal["duplicate", "fraudulent", "requested_by_customer"] | None = None


class RefundReceipt(Receipt):
    """`state`: succeeded, pending or failed, as it was then; what becomes of it later is a later receipt."""

    amount: int | None = None
    state: str | None = None


class PaymentIntent(BaseModel):
    """A payment to be made. `number`: yours. `amount`: in the smallest unit of `currency`. `confirm`: charge at once."""

    number: str
    customer: Annotated[str | None, Target()] = None
    amount: Annotated[int, Money(currency="currency")]
    currency: str
    payment_method: str | None = None
    confirm: bool = False
    description: str | None = None


class PaymentReceipt(Receipt):
    """`state`: Stripe's status of the intent, as it was then."""

    amount: int | None = None
    state: str | None = None


def refund(
    app: Declares,
    *,
    receiver: str = "stripe",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Refund, RefundReceipt]:
    """`POST /v1/refunds`. `overrides`: what your account knows better than the catalogue, by attribute."""
    return declared(app, stripe_refund, refund_contract(overrides), receiver, **governed)


def payment_intent(
    app: Declares,
    *,
    receiver: str = "stripe",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[PaymentIntent, PaymentReceipt]:
    """`POST /v1/payment_intents`. `overrides`: what your account knows better than the catalogue, by attribute."""
    return declared(app, stripe_payment_intent, payment_contract(overrides), receiver, **governed)


def refund_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `refund`."""
    return contract_of(ENTRY, action="POST /v1/refunds", find=find_refund, overrides=overrides)


def payment_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `payment_intent`."""
    return contract_of(ENTRY, action="POST /v1/payment_intents", find=find_payment_intent, overrides=overrides)


async def stripe_refund(call: Call, refund: Refund) -> RefundReceipt:
    """One request under our key; the contract stamps our operation's id into the metadata."""
    form = _given({"charge": refund.charge, "amount": refund.amount, "reason": refund.reason})
    made = (await call.http.post("/v1/refunds", data=form)).json()
    return RefundReceipt(reference=made["id"], amount=made["amount"], state=made.get("status"))


async def stripe_payment_intent(call: Call, payment: PaymentIntent) -> PaymentReceipt:
    """One request under our key; the contract stamps our operation's id into the metadata."""
    form = _given(payment.model_dump(exclude={"number", "currency", "confirm"}))
    form |= {"currency": payment.currency.lower(), **({"confirm": "true"} if payment.confirm else {})}
    made = (await call.http.post("/v1/payment_intents", data=form)).json()
    return PaymentReceipt(reference=made["id"], amount=made["amount"], state=made.get("status"))


async def find_refund(ask: Ask, refund: Refund) -> Seen[RefundReceipt]:
    """The refunds of this charge that carry our operation's id."""
    ours = await _ours(ask, "/v1/refunds", {"charge": refund.charge})
    found = [
        Found(
            RefundReceipt(reference=item["id"], amount=item["amount"], state=item.get("status")),
            payload=refund.model_copy(update={"amount": item["amount"], "charge": item["charge"]}),
        )
        for item in ours
    ]
    return Seen(found, complete=True)


async def find_payment_intent(ask: Ask, payment: PaymentIntent) -> Seen[PaymentReceipt]:
    """The intents made since the first attempt that carry our operation's id."""
    ours = await _ours(ask, "/v1/payment_intents", {}, since=_seconds(ask.first_sent_at - CLOCKS))
    found = [
        Found(
            PaymentReceipt(reference=item["id"], amount=item["amount"], state=item.get("status")),
            payload=payment.model_copy(
                update={
                    "amount": item["amount"],
                    "currency": item["currency"].upper() if payment.currency.isupper() else item["currency"],
                    "customer": item.get("customer"),
                }
            ),
        )
        for item in ours
    ]
    return Seen(found, complete=True)


async def _ours(ask: Ask, path: str, by: Mapping[str, str], *, since: int = 0) -> list[dict[str, Any]]:
    """Every object of ours in a list, which is newest first: to its end, or to what was made before `since`."""
    ours: list[dict[str, Any]] = []
    after: dict[str, str] = {}
    while True:
        page = (await ask.http.get(path, params={**by, "limit": PAGE, **after})).json()
        items = page["data"]
        ours += [item for item in items if _mark_of(item) == ask.operation_id]
        if not page["has_more"] or not items or items[-1]["created"] < since:
            return ours
        after = {"starting_after": items[-1]["id"]}


def _mark_of(item: Mapping[str, Any]) -> Any:
    metadata: Mapping[str, Any] = item.get("metadata") or {}
    return metadata.get("operation")


def _given(form: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in form.items() if value is not None}


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
