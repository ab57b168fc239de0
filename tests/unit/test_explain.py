from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.app.explain import explain, guarantee, on_unknown
from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.model.budget import Budget
from counterfoil.model.contract import Contract, Lookup, Webhook
from counterfoil.model.errors import Refused
from tests.unit.opened_ledger import KEYED, KEYLESS, find, pay, registry

FIELDS = {
    "operation", "receiver", "action", "saved_decision", "identity", "business_key", "review", "guarantee", "on_unknown", "owner",
    "procedure", "storage_promise", "sentences",
}  # fmt: skip

made = registry()
made.add_operation(Operation("tell", pay, "bank", KEYLESS, lambda refund: refund.number, False, None, "mail-desk"))
tell_operation = made.operations["tell"]


async def telling(run: Any, request: Any) -> Any:
    async def later() -> Any:
        return await run.perform(tell_operation, request)

    return await later()


async def indirectly(run: Any, request: Any) -> Any:
    return await telling(run, request)


for function in (telling, indirectly):
    budget = Budget(attempts=1, elapsed=timedelta(days=1), spend_usd=1, owner="ops")
    made.add_workflow(Workflow(function.__name__, 1, function, budget))


def names(target: str | None) -> list[str]:
    return [item["operation"] for item in explain(made, target)["items"]]


def test_every_field_of_the_page_is_there() -> None:
    pay_item, tell_item = explain(made)["items"]
    for item in (pay_item, tell_item):
        assert set(item) >= FIELDS
        assert all(item[name] is not None for name in FIELDS - {"review", "procedure", "business_key"})
    assert pay_item["review"]["role"] == "approver"
    assert pay_item["review"]["expires_in"] == 8 * 3600
    assert "digest" in pay_item["review"]["scope"]
    assert (pay_item["business_key"], pay_item["owner"]) == ("number", "ops")
    assert tell_item["review"] is None
    assert (tell_item["business_key"].startswith("tests.unit.test_explain:"), tell_item["owner"]) == (True, "mail-desk")


def test_a_target_is_an_operation_a_workflow_or_all() -> None:
    assert names(None) == names("refunds") == ["pay", "tell"]
    assert names("pay") == names("shop:pay") == ["pay"]
    assert names("telling") == ["tell"]
    assert names("indirectly") == ["pay", "tell"]  # it names none itself
    with pytest.raises(Refused) as caught:
        explain(made, "nothing")
    assert caught.value.code == "not_found"


ASKED = Lookup(find, consistency="strong", visible_within=timedelta(0), arrives_within=timedelta(0))


@pytest.mark.parametrize(
    ("contract", "words", "steps"),
    [
        (KEYED, "by our key", "Repeat it while that is harmless, then park"),
        (
            replace(KEYLESS, precondition="create_if_absent"),
            "create_if_absent",
            "Repeat it while that is harmless, then park",
        ),
        (replace(KEYLESS, lookup=ASKED), "does not have it", "Ask the receiver, then park"),
        (
            replace(KEYLESS, lookup=replace(ASKED, consistency=None)),
            "can be asked whether",
            "Ask the receiver, then park",
        ),
        (
            replace(KEYLESS, receipts=[Webhook(type="paid", operation="id", dedupe="event_id")]),
            "nothing tells",
            "Wait for the receiver's message, then park",
        ),
        (KEYLESS, "nothing tells", "Park the run"),
    ],
)
def test_what_a_contract_guarantees(contract: Contract, words: str, steps: str) -> None:
    assert words in guarantee(contract)
    assert on_unknown(contract).startswith(steps)
