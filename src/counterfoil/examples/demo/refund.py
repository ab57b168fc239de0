"""The stories of the refund: three stops, a saved error, the same request twice, and another amount for it."""

from dataclasses import replace
from pathlib import Path

from counterfoil.examples.demo.payments import ProviderReceiver
from counterfoil.examples.demo.receivers import SandboxReceiver
from counterfoil.examples.demo.story import Plan, Staged
from counterfoil.model.run import ParkReason
from counterfoil.testing.servers.stripe_mock import PaymentProvider

APP = "counterfoil.examples.refund.app:app"
PAID, GIVEN_BACK, OTHER = 4900, 1200, 1500


def stories(provider: PaymentProvider, kept: Path) -> list[Staged]:
    """All of them; the last two are about the request of the third. `kept`: where the sandbox's record file lies."""
    shared = _paid(provider)
    return [
        _at_provider(
            provider,
            _plan("refund-not-sent", "1. Killed before the request leaves.", "R-1001", _paid(provider)),
            "before:operation.first_byte",
        ),
        _at_provider(
            provider,
            _plan(
                "refund-reply-lost",
                "2. Accepted, the reply is lost, and the worker is killed.",
                "R-1002",
                _paid(provider),
            ),
            "before:operation.classified",
            fault="drop-reply",
        ),
        _at_provider(
            provider,
            _plan(
                "refund-resubmitted", "3. Killed with the receipt saved; then the same request again.", "R-1003", shared
            ),
            "operation.classified",
        ),
        _saved_error(kept),
        _at_provider(
            provider,
            _plan(
                "refund-same-request",
                "5. Another run for refund R-1003: it finds the first one's receipt.",
                "R-1003",
                shared,
            ),
            None,
        ),
        _at_provider(provider, _other_amount(shared), None),
    ]


def _paid(provider: PaymentProvider) -> str:
    _, charge = provider.charge(PAID)
    return str(charge["id"])


def _plan(name: str, title: str, number: str, charge: str, *, amount: int = GIVEN_BACK) -> Plan:
    letter = f"The parcel came broken. Please refund the amount {amount} of what I paid."
    return Plan(
        name=name,
        title=title,
        receiver_kind="key",
        workflow="refund",
        request_id=name,
        input={"request_number": number, "charge": charge, "letter": letter},
        ends="succeeded",
    )


def _other_amount(charge: str) -> Plan:
    plan = _plan(
        "refund-other-amount", "6. Another amount for refund R-1003: a person decides.", "R-1003", charge, amount=OTHER
    )
    return replace(plan, ends="unresolved", reason=ParkReason.BUSINESS_KEY_CONFLICT)


def _at_provider(provider: PaymentProvider, plan: Plan, crash_at: str | None, *, fault: str | None = None) -> Staged:
    def receiver() -> ProviderReceiver:
        return ProviderReceiver(provider, str(plan.input["charge"]), fault=fault)

    return Staged(plan=plan, crash_at=crash_at, receiver=receiver, url_name="STRIPE_URL")


def _saved_error(kept: Path) -> Staged:
    """The effect, and a 500 that is saved under its key: made in the sandbox, since the server only fails charges."""
    title = "4. The refund is made, but a 500 is saved under its key: look it up, do not repeat."
    plan = _plan("refund-saved-500", title, "R-1004", "ch_sandbox")

    def receiver() -> SandboxReceiver:
        return SandboxReceiver("A", fault="error-after-accept", records=kept / f"{plan.name}.records.jsonl")

    return Staged(plan=plan, crash_at=None, receiver=receiver, url_name="STRIPE_URL")
