"""Salesforce: a record is created under an external id of ours. A repeat updates the same record with the same values.

The field must be an External ID and **Unique**: without that, two requests at once make two records.

    app.receiver("salesforce", url=Env("SALESFORCE_URL"), credential=Bearer(Env("SALESFORCE_TOKEN")), environment="live")
    create = salesforce.create(app, receiver="salesforce", owner="sales-ops")
"""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack, cast

from pydantic import BaseModel, Field

from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen, When
from counterfoil.model.exchange import Exchange
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt
from counterfoil.receivers.catalogue import entry
from counterfoil.receivers.http import LookupUnreachable

ENTRY = "salesforce_upsert"
NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
SEVERAL, ABSENT = 300, 404

Value = str | int | float | bool | None


class Record(BaseModel):
    """`number`: yours. `object`: its API name. `values`: by field. `external_id`: the unique field that holds our key."""

    number: str
    object: Annotated[str, Target(), Field(pattern=NAME)]
    values: dict[str, Value]
    external_id: Annotated[str, Field(pattern=NAME)] = "Counterfoil_Operation__c"


def create(
    app: Declares,
    *,
    receiver: str = "salesforce",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Record, Receipt]:
    """`PATCH .../sobjects/{object}/{external id field}/{key}`. `overrides`: what your org knows better, by attribute."""
    return declared(app, salesforce_create, create_contract(overrides), receiver, **governed)


def create_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `create`. A 300 names several records under our key: it fits no rule, so they are asked for."""
    action = "PATCH /services/data/vXX/sobjects/{SObject}/{ExtIdField}/{value}"
    classifier = [When(status=400).means("refused"), When(status="2xx").means("applied")]
    return contract_of(
        ENTRY, action=action, find=find_record, overrides={"classifier": classifier, **(overrides or {})}
    )


async def salesforce_create(call: Call, record: Record) -> Receipt:
    """One request to the place that our key names."""
    reply = await call.http.patch(_place(record, "{key}"), json=record.values)
    # An update may be answered without a body: then the place itself is the reference.
    return Receipt(reference=reply.json()["id"] if reply.content else str(call.key))


async def find_record(ask: Ask, record: Record) -> Seen[Receipt]:
    """The record at the place that our key names, with the fields that were written; each of them, where the field is not
    unique and the answer names several."""
    try:
        reply = await ask.http.get(_place(record, str(ask.key)))
    except LookupUnreachable as answered:
        several = _several(answered.exchange)
        if len(several) < 2:
            raise
        return Seen([Found(Receipt(reference=each)) for each in several], complete=True)
    if reply.status == ABSENT:
        return Seen([], complete=True)
    shown = reply.json()
    held = record.model_copy(update={"values": {name: shown.get(name) for name in record.values}})
    return Seen([Found(Receipt(reference=shown["Id"]), payload=held)], complete=True)


def _several(exchange: Exchange | None) -> list[str]:
    """The ids of the records that a 300 lists by their addresses; none where it is no such answer, or a broken one."""
    if exchange is None or exchange.status != SEVERAL or not exchange.complete:
        return []
    listed: Any = exchange.json()
    addresses = cast("list[Any]", listed) if isinstance(listed, list) else []
    return [str(each).rpartition("/")[2] for each in addresses]


def _place(record: Record, key: str) -> str:
    version = entry(ENTRY).contract.api_version
    return f"/services/data/{version}/sobjects/{record.object}/{record.external_id}/{key}"
