"""Salesforce: a record is created under an external id of ours. A repeat updates the same record with the same values.

The field must be an External ID and **Unique**: without that, two requests at once make two records.

    app.receiver("salesforce", url=Env("SALESFORCE_URL"), credential=Bearer(Env("SALESFORCE_TOKEN")), environment="live")
    create = salesforce.create(app, receiver="salesforce", owner="sales-ops")
"""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt
from counterfoil.receivers.catalogue import entry

ENTRY = "salesforce_upsert"
NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
ABSENT = 404

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
    """The contract of `create`."""
    action = "PATCH /services/data/vXX/sobjects/{SObject}/{ExtIdField}/{value}"
    return contract_of(ENTRY, action=action, find=find_record, overrides=overrides)


async def salesforce_create(call: Call, record: Record) -> Receipt:
    """One request to the place that our key names."""
    reply = await call.http.patch(_place(record, "{key}"), json=record.values)
    # An update may be answered without a body: then the place itself is the reference.
    return Receipt(reference=reply.json()["id"] if reply.content else str(call.key))


async def find_record(ask: Ask, record: Record) -> Seen[Receipt]:
    """The record at the place that our key names, with the fields that were written."""
    reply = await ask.http.get(_place(record, str(ask.key)))
    if reply.status == ABSENT:
        return Seen([], complete=True)
    shown = reply.json()
    held = record.model_copy(update={"values": {name: shown.get(name) for name in record.values}})
    return Seen([Found(Receipt(reference=shown["Id"]), payload=held)], complete=True)


def _place(record: Record, key: str) -> str:
    version = entry(ENTRY).contract.api_version
    return f"/services/data/{version}/sobjects/{record.object}/{record.external_id}/{key}"
