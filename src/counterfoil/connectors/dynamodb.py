"""Amazon DynamoDB: an item is put where none is, in a transaction under our key and with our id in the item.

app.receiver("orders", url=Env("AWS_ENDPOINT_URL", "https://dynamodb.eu-west-1.amazonaws.com"), environment="live")
put = dynamodb.put(app, receiver="orders", owner="platform-oncall")
"""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors import aws
from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen, When
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "aws_dynamodb_transact"
TABLE = r"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:\d{12}:table/[^/\s]+"
MARK = "counterfoil_operation"  # the item's attribute that holds our operation's id
CANCELLED = "TransactionCanceledException"
Value = str | int | bool | None


class Item(BaseModel):
    """`number`: yours. `table`: the table's ARN. `key`: the attributes of its primary key. `values`: the others."""

    number: str
    table: Annotated[str, Target(), Field(pattern=f"^{TABLE}$")]
    key: Annotated[dict[str, str | int], Field(min_length=1, max_length=2)]
    values: dict[str, Value] = {}


def put(
    app: Declares,
    *,
    receiver: str = "dynamodb",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Item, Receipt]:
    """`TransactWriteItems` with one conditional put. `overrides`: what your account knows better than the catalogue."""
    return declared(app, put_item, put_contract(overrides), receiver, **governed)


def put_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `put`: the catalogue's, and the condition, under which a repeat is harmless however late it comes."""
    classifier = [
        When(status=400, body={"Error.Code": CANCELLED}).means("refused"),
        When(status=400, body={"Error.Code": "ResourceNotFoundException"}).means("refused"),
        When(status=400, body={"Error.Code": "TransactionInProgressException"}).means("in_progress"),
        When(status=400, body={"Error.Code": "IdempotentParameterMismatchException"}).means("key_mismatch"),
        When(status="2xx").means("applied"),
    ]
    ours = {"classifier": classifier, "precondition": "create_if_absent"}
    return contract_of(ENTRY, action="TransactWriteItems", find=find_item, overrides={**ours, **(overrides or {})})


def put_item(call: Call, item: Item) -> Receipt:
    """One request under our key, on the condition that the primary key is not there."""
    first = next(iter(item.key))
    whole = {**item.key, **item.values, MARK: call.operation_id}
    written = {
        "TableName": item.table,
        "Item": {name: _typed(value) for name, value in whole.items()},
        "ConditionExpression": "attribute_not_exists(#first)",
        "ExpressionAttributeNames": {"#first": first},
    }
    aws.sent(
        call,
        "dynamodb",
        aws.region_of(item.table),
        lambda client, key: client.transact_write_items(TransactItems=[{"Put": written}], ClientRequestToken=key),
    )
    return Receipt(reference=_reference(item))


def find_item(ask: Ask, item: Item) -> Seen[Receipt]:
    """The item of this primary key, by a strong read, if it carries our operation's id."""
    key = {name: _typed(value) for name, value in item.key.items()}
    held = aws.read(
        "dynamodb",
        aws.region_of(item.table),
        lambda client: client.get_item(TableName=item.table, Key=key, ConsistentRead=True),
        absent="",
    ).get("Item", {})
    if held.get(MARK) != {"S": ask.operation_id}:
        return Seen([], complete=True)
    values = {name: _value(value) for name, value in held.items() if name not in (MARK, *item.key)}
    return Seen(
        [Found(Receipt(reference=_reference(item)), payload=item.model_copy(update={"values": values}))], complete=True
    )


def _reference(item: Item) -> str:
    return f"{item.table.rpartition('/')[2]}/" + "/".join(str(value) for value in item.key.values())


def _typed(value: Value) -> dict[str, Any]:
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"S": value}


def _value(typed: Mapping[str, Any]) -> Value:
    """Only what `_typed` writes; anything else is shown as text, and so compares as other content."""
    ((kind, value),) = typed.items()
    if kind == "NULL":
        return None
    if kind == "N" and str(value).lstrip("-").isdigit():
        return int(value)
    return value if kind in ("S", "BOOL") else str(value)
