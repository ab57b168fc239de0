"""Amazon SQS, FIFO queues: a message under our key, which the queue knows for five minutes. Nobody can ask for it later.

app.receiver("orders", url=Env("AWS_ENDPOINT_URL", "https://sqs.eu-west-1.amazonaws.com"), environment="live")
send = sqs.send(app, receiver="orders", owner="platform-oncall")
"""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors import aws
from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Call
from counterfoil.model.contract import Contract
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "aws_sqs_fifo"
MARK = "counterfoil-operation"  # the message's attribute that holds our operation's id


class Message(BaseModel):
    """`number`: yours. `queue`: the URL of a FIFO queue. `group`: messages of one group are handed out in order."""

    number: str
    queue: Annotated[str, Target(), Field(pattern=r"^https?://\S+/\d{12}/\S+\.fifo$")]
    group: str
    body: str
    region: str | None = None


class MessageReceipt(Receipt):
    """`reference`: the message's id. A repeat is answered with an id of its own, though nothing is delivered for it."""

    sequence: str | None = None


def send(
    app: Declares,
    *,
    receiver: str = "sqs",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Message, MessageReceipt]:
    """`SendMessage`. `overrides`: what your account knows better than the catalogue, by attribute."""
    return declared(app, send_message, send_contract(overrides), receiver, **governed)


def send_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `send`: the catalogue's as it is."""
    return contract_of(ENTRY, action="SendMessage", overrides=overrides)


def send_message(call: Call, message: Message) -> MessageReceipt:
    """One request under our key. Our operation's id stands in an attribute, for whoever receives the message."""
    told = aws.sent(
        call,
        "sqs",
        message.region,
        lambda client, key: client.send_message(
            QueueUrl=message.queue,
            MessageBody=message.body,
            MessageGroupId=message.group,
            MessageDeduplicationId=key,
            MessageAttributes={MARK: {"DataType": "String", "StringValue": call.operation_id}},
        ),
    )
    return MessageReceipt(reference=told["MessageId"], sequence=told.get("SequenceNumber"))
