"""HubSpot: a CRM record is created with our key in a property of its own, which HubSpot keeps unique: a repeat is a 409.

Make the property first: `counterfoil_operation`, a single-line text, with unique values (`hasUniqueValue`), for each type of object.

    app.receiver("hubspot", url="https://api.hubapi.com", credential=Bearer(Env("HUBSPOT_TOKEN")), environment="live")
    create = hubspot.create(app, receiver="hubspot", owner="sales-ops")
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

ENTRY = "hubspot_contacts"
PROPERTY = "counterfoil_operation"
ABSENT = 404


class Record(BaseModel):
    """`number`: yours. `object`: its type, such as contacts or deals. `properties`: by internal name, as text."""

    number: str
    object: Annotated[str, Target(), Field(pattern=r"^[a-z0-9_-]+$")] = "contacts"
    properties: dict[str, str]


def create(
    app: Declares,
    *,
    receiver: str = "hubspot",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Record, Receipt]:
    """`POST /crm/v3/objects/{object}`. `overrides`: what your account knows better than the catalogue, by attribute."""
    return declared(app, hubspot_create, create_contract(overrides), receiver, **governed)


def create_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `create`: a 409 fits no rule, so whether the record is ours is asked."""
    return contract_of(ENTRY, action="POST /crm/v3/objects/{object}", find=find_record, overrides=overrides)


async def hubspot_create(call: Call, record: Record) -> Receipt:
    """One request; the contract puts our key into the property."""
    made = (await call.http.post(f"/crm/v3/objects/{record.object}", json={"properties": record.properties})).json()
    return Receipt(reference=made["id"])


async def find_record(ask: Ask, record: Record) -> Seen[Receipt]:
    """The record whose property holds our key: a direct read, never the search, which is an index."""
    params = {"idProperty": PROPERTY, "properties": ",".join(record.properties)}
    reply = await ask.http.get(f"/crm/v3/objects/{record.object}/{ask.key}", params=params)
    if reply.status == ABSENT:
        return Seen([], complete=True)
    shown = reply.json()
    held = record.model_copy(update={"properties": {name: shown["properties"].get(name) for name in record.properties}})
    return Seen([Found(Receipt(reference=shown["id"]), payload=held)], complete=True)
