"""The application of the fleets: one write each, at a receiver with a key, one that can be asked, and one with neither."""

import os
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel

from counterfoil import App, Budget, Call, Env, Receipt, Run
from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.model.contract import Contract
from counterfoil.model.money import Target
from counterfoil.model.people import Owner
from counterfoil.model.slots import Partition
from tests.engine.writes import Kind, contract

app = App("fleet")
KINDS: tuple[Kind, ...] = ("key", "lookup", "none")
BUDGET = Budget(attempts=500, elapsed=timedelta(days=1), spend_usd=1, owner="oscar")


class Parcel(BaseModel):
    number: Annotated[str, Target()]
    amount: int = 1


async def weigh(parcel: Parcel) -> int:
    return len(parcel.number)


def _contract(kind: Kind) -> Contract:
    """With a short time-out: an attempt of a frozen worker is over soon."""
    plain = contract(kind)
    return Contract(
        api_version=plain.api_version, duplicate=plain.duplicate, key=plain.key, classifier=plain.classifier,
        lookup=plain.lookup, reference=plain.reference, procedure=plain.procedure, request_timeout=timedelta(seconds=2),
    )  # fmt: skip


def _operation(kind: Kind) -> Operation[Any, Any]:
    app.receiver(kind, url=Env(f"FLEET_{kind.upper()}_URL"), environment="test", concurrency=4)

    async def send(call: Call, parcel: Parcel) -> Receipt:
        reply = await call.http.post("/cases", json=parcel.model_dump())
        return Receipt(reference=reply.json()["id"])

    send.__name__ = f"send_by_{kind}"
    who = Owner("oscar", within=timedelta(hours=4))
    return app.operation(receiver=kind, contract=_contract(kind), business_key="number", owner=who)(send)


def _workflow(kind: Kind) -> Workflow[Any, Any]:
    operation = _operation(kind)

    async def ship(run: Run, parcel: Parcel) -> int:
        weight = await run.step(weigh, parcel)
        await run.perform(operation, parcel)
        return weight + await run.step(weigh, parcel)

    ship.__name__ = f"ship_by_{kind}"
    places = int(os.environ.get("FLEET_PLACES", "12"))
    declared = app.workflow(
        version=1, budget=BUDGET, concurrency=places, partition=Partition("amount", concurrency=places)
    )
    return declared(ship)


SHIPS: dict[Kind, Workflow[Any, Any]] = {kind: _workflow(kind) for kind in KINDS}
