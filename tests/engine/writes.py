"""Operations of the tests, over the sandbox."""

from datetime import timedelta
from typing import Any, Literal

from counterfoil.app import App
from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.engine.port import Ask, Call, Run
from counterfoil.model.contract import Contract, Found, IdempotencyKey, Lookup, Reference, Seen, When
from counterfoil.model.people import Owner
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewBy
from tests.engine.house import BUDGET, Order

Kind = Literal["key", "lookup", "none"]
CLASSIFIER = [When(status="2xx").means("applied"), When(status={400, 402, 422}).means("refused")]
KEY = IdempotencyKey(
    header="Idempotency-Key", retention=timedelta(hours=24), saves={"2xx", "4xx", "5xx"}, other_body="rejects"
)


async def find_case(ask: Ask, order: Order) -> Seen[Receipt]:
    page = (await ask.http.get("/cases", params={"reference": ask.operation_id, "limit": 100})).json()
    found = [Found(Receipt(reference=r["id"]), payload=order.model_copy(update=_shown(r))) for r in page["data"]]
    return Seen(found, complete=not page["has_more"])


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record["payload"][name] for name in ("number", "amount")}


def contract(kind: Kind) -> Contract:
    if kind == "key":
        return Contract(api_version="1", duplicate="costly", key=KEY, classifier=CLASSIFIER)
    if kind == "lookup":
        lookup = Lookup(
            find_case,
            consistency="strong",
            visible_within=timedelta(0),
            arrives_within=timedelta(0),
            finds_by="operation_id",
        )
        return Contract(
            api_version="1", duplicate="costly", classifier=CLASSIFIER, lookup=lookup,
            reference=Reference(header="Counterfoil-Operation"),
        )  # fmt: skip
    return Contract(
        api_version="1", duplicate="costly", classifier=CLASSIFIER, procedure="Look into the CRM's list of cases."
    )


def create_case(
    app: App, kind: Kind = "key", *, review: bool = False, business_key: str | None = "number", approvals: int = 1
) -> Operation[Any, Any]:
    async def create_case(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/cases", json=order.model_dump())
        return Receipt(reference=reply.json()["id"])

    asked = ReviewBy(
        role="manager",
        expires_in=timedelta(hours=8),
        owner=Owner("lead", within=timedelta(hours=4), then="ops"),
        approvals=approvals,
    )
    return app.operation(
        receiver="crm", contract=contract(kind), business_key=business_key, repeatable=business_key is None,
        review=asked if review else None, owner="lead",
    )(create_case)  # fmt: skip


def writing(app: App, operation: Operation[Any, Any]) -> Workflow[Any, Any]:
    """One operation over the order."""

    async def writing(run: Run, order: Order) -> Receipt:
        return await run.perform(operation, order)

    return app.workflow(version=1, budget=BUDGET)(writing)
