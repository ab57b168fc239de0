"""Writes that take more than one answer: a token that is saved before the second step, and a receiver that does it later."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Call, Run
from counterfoil.model.contract import Contract, When
from counterfoil.model.receipt import Receipt
from tests.engine.house import BUDGET, Order
from tests.traps.stage import Build, Stage


class Confirmation(BaseModel):
    number: str
    token: str


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    made: list[Stage] = []

    def build(entry: str, **how: Any) -> Stage:
        made.append(Stage(tmp_path, monkeypatch, entry, **how))
        return made[-1]

    yield build
    for each in made:
        each.close()


def in_two_steps(app: Any, first: Contract) -> Any:
    """The first step's receipt is the token; the second is an operation of its own, and its payload names the token."""
    app.receiver("r", url=Env("CRM_URL"), environment="test")
    applied = [When(status="2xx").means("applied")]
    second = Contract(api_version="1", classifier=applied, precondition="expected_version", procedure="Ask the desk.")

    async def prepare(call: Call, order: Order) -> Receipt:
        return Receipt(reference=(await call.http.post("/cases", json=order.model_dump())).json()["id"])

    async def confirm(call: Call, step: Confirmation) -> Receipt:
        reply = await call.http.post(f"/cases/{step.token}/confirm", json={})
        return Receipt(reference=reply.json()["id"])

    how: dict[str, Any] = {"receiver": "r", "business_key": "number", "owner": "lead"}
    prepared = app.operation(contract=first, **how)(prepare)
    confirmed = app.operation(contract=second, **how)(confirm)

    async def transfer(run: Run, order: Order) -> str:
        token = await run.perform(prepared, order)
        return (await run.perform(confirmed, Confirmation(number=order.number, token=token.reference))).reference

    return app.workflow(version=1, budget=BUDGET)(transfer)


def test_the_token_of_the_first_step_is_saved_before_the_second(stage: Build) -> None:
    plaid = stage("plaid_transfer", asks=None)
    assert plaid.kept.two_step
    plaid.restart(lambda app: in_two_steps(app, plaid.contract))
    plaid.faults.arm("error-before-accept", count=1)  # of the first step: nothing is prepared, and a person must say so
    assert plaid.told() == ["outcome_unknown"] and plaid.held() == []
    plaid.faults.clear()
    assert plaid.told("again", number="2") == ["completed"]
    (record,) = plaid.held()
    assert {receipt.reference for receipt in plaid.receipts()} == {record["id"]}  # the token is the object's identity

    plaid.restart(lambda app: in_two_steps(app, plaid.contract))
    assert plaid.told("again", number="2") == ["completed"]
    assert len(plaid.held()) == 1, "another process takes both receipts from the record"


def test_a_lost_answer_to_the_second_step_is_repeated_under_the_same_token(stage: Build) -> None:
    plaid = stage("plaid_transfer", asks=None)
    plaid.restart(lambda app: in_two_steps(app, plaid.contract))
    plaid.faults.arm("slow", seconds=0)  # the first step's
    plaid.faults.arm("drop-reply")
    assert plaid.told() == ["completed"]
    confirmed = [request["path"] for request in plaid.requests() if request["path"].endswith("/confirm")]
    assert len(plaid.held()) == 1 and len(confirmed) == 2 and len(set(confirmed)) == 1


def test_a_receiver_that_does_it_later_is_asked_until_its_own_deadline(stage: Build) -> None:
    """202: at work. It is polled, shown an hour later, and never sent again meanwhile."""
    known = {
        "lookup.consistency": "strong",
        "lookup.visible_within": timedelta(0),
        "lookup.arrives_within": timedelta(0),
        "completes_within": timedelta(hours=6),
        "key.account_retention": timedelta(seconds=1),
    }
    netsuite = stage("netsuite_async", overrides=known, sandbox={"key_header": None})
    netsuite.faults.arm("refuse", status=202, body={"status": "accepted"})
    assert netsuite.told(within=1800) == ["waiting"]
    assert len(netsuite.requests()) == 1 and netsuite.receiver.traffic.value("lookups") > 3
    (begun,) = netsuite.attempts()
    assert begun.answer_class == "in_progress"
    done = {"Counterfoil-Operation": begun.operation_id}
    httpx2.post(netsuite.server.url + Stage.path, json=Order(number="1").model_dump(), headers=done)
    assert netsuite.told() == ["completed"]
    assert len(netsuite.held()) == 1 and len(netsuite.attempts()) == 1 and netsuite.receipts()[0].how == "lookup"


def test_a_receiver_that_never_does_it_is_a_persons(stage: Build) -> None:
    netsuite = stage("netsuite_async", overrides={"key.account_retention": timedelta(seconds=1)})
    netsuite.faults.arm("refuse", status=202, body={"status": "accepted"})
    assert netsuite.told() == ["outcome_unknown"]
    assert netsuite.held() == [] and len(netsuite.requests()) == 1
