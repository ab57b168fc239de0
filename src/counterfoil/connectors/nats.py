"""NATS JetStream: a message is published under our key, which the stream knows for its duplicate window.

app.receiver("orders", url=Env("NATS_URL"), environment="live")
publish = nats.publish(app, receiver="orders", duplicate_window=timedelta(minutes=2), owner="platform-oncall")
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen, When
from counterfoil.model.errors import Refused
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt
from counterfoil.settings import environment

ENTRY = "nats_jetstream"
INSTALL = "Install it: pip install 'counterfoil[connectors]'"
CREDENTIALS, TOKEN = "NATS_CREDENTIALS", "NATS_TOKEN"  # variables: the path of a credentials file; a token
KEY, MARK = "Nats-Msg-Id", "Counterfoil-Operation"  # headers: our key, and our operation's id
SECONDS = 4  # for one exchange
TIMEOUT = timedelta(seconds=10)  # for an attempt: to connect, and to publish
CLOCKS = timedelta(hours=1)  # by so much the two sides' clocks may differ
PAGE = 100


class Message(BaseModel):
    """`number`: yours. `stream`: the stream that must take it. `subject`: one of its subjects, without wildcards."""

    number: str
    stream: Annotated[str, Target()]
    subject: Annotated[str, Field(pattern=r"^[^\s*>]+$")]
    body: str


class MessageReceipt(Receipt):
    """`reference`: STREAM/SEQUENCE."""

    sequence: int | None = None


def publish(
    app: Declares,
    *,
    duplicate_window: timedelta,
    receiver: str = "nats",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Message, MessageReceipt]:
    """A publish to a stream. `duplicate_window`: as the stream is configured; a longer one than it has is a second message.

    `overrides`: what your account knows better than the catalogue, by attribute.
    """
    kept = publish_contract(duplicate_window, overrides)
    return declared(app, publish_message, kept, receiver, **governed)


def publish_contract(duplicate_window: timedelta, overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `publish`: the catalogue's, with the stream's own window, and the answers that come before anything is stored."""
    classifier = [
        When(status=400).means("refused"),  # JetStream answers so when it has checked a message and not stored it
        When(status=503, body={"no_responders": True}).means("not_applied"),  # nobody listened
        When(status="2xx").means("applied"),
    ]
    ours = {"key.account_retention": duplicate_window, "request_timeout": TIMEOUT, "classifier": classifier}
    return contract_of(ENTRY, action="publish", find=find_message, overrides={**ours, **(overrides or {})})


def publish_message(call: Call, message: Message) -> MessageReceipt:
    """One message under our key, with our operation's id beside it."""
    return asyncio.run(_published(call, message))


def find_message(ask: Ask, message: Message) -> Seen[MessageReceipt]:
    """What the stream holds on this subject since the first attempt with our operation's id. Its body is compared."""
    return asyncio.run(_found(ask, message))


async def _published(call: Call, message: Message) -> MessageReceipt:
    connection = await _connected(call.http.url)  # before anything is in flight: what fails here was never sent
    errors: Any = import_module("nats.js.errors")
    told: dict[str, Any] = {}
    try:
        with call.sending() as sending:
            headers = {KEY: sending.key or "", MARK: call.operation_id}
            try:
                ack = await connection.jetstream().publish(
                    message.subject, message.body.encode(), timeout=SECONDS, stream=message.stream, headers=headers
                )
            except errors.NoStreamResponseError:
                sending.reply(503, {"no_responders": True})
            except errors.APIError as said:
                sending.reply(said.code or 500, {"err_code": said.err_code, "description": said.description})
            else:
                told = {"stream": ack.stream, "seq": ack.seq, "duplicate": bool(ack.duplicate)}
                sending.reply(200, told)
    finally:
        await connection.close()
    return _receipt(told["stream"], told["seq"])


async def _found(ask: Ask, message: Message) -> Seen[MessageReceipt]:
    connection = await _connected(ask.http.url)
    api: Any = import_module("nats.js.api")
    try:
        stream = connection.jetstream()
        info = await stream.stream_info(message.stream)
        walk = await stream.pull_subscribe(
            message.subject,
            stream=message.stream,
            config=api.ConsumerConfig(
                deliver_policy=api.DeliverPolicy.BY_START_TIME,
                opt_start_time=ask.first_sent_at - CLOCKS,
                ack_policy=api.AckPolicy.NONE,
                inactive_threshold=float(SECONDS * 4),
            ),
        )
        ours: list[Found[MessageReceipt]] = []
        left = (await walk.consumer_info()).num_pending
        while left:
            page = await walk.fetch(min(left, PAGE), timeout=SECONDS)
            ours += [_shown(message, each) for each in page if _mark(each) == ask.operation_id]
            left -= len(page)
        await walk.unsubscribe()
    finally:
        await connection.close()
    return Seen(ours, complete=_has_all(info))


def _has_all(info: Any) -> bool:
    """Whether what this stream was ever given is still in it, under the subject that it came with. Else absence proves nothing:
    consumers take it away, it was too old or too much, somebody removed it, or it was filed elsewhere."""
    config, state = info.config, info.state
    limits = (config.max_msgs, config.max_bytes, config.max_msgs_per_subject)
    bounded = config.max_age or any(limit is not None and limit > 0 for limit in limits)
    removed = (state.first_seq or 0) > 1 or bool(state.num_deleted or state.deleted)
    return config.retention == "limits" and not (bounded or removed or getattr(config, "subject_transform", None))


def _mark(held: Any) -> str | None:
    headers: Mapping[str, str] = held.headers or {}
    return headers.get(MARK)


def _shown(message: Message, held: Any) -> Found[MessageReceipt]:
    there = message.model_copy(update={"body": held.data.decode("utf-8", "replace")})
    return Found(_receipt(held.metadata.stream, held.metadata.sequence.stream), payload=there)


def _receipt(stream: str, sequence: int) -> MessageReceipt:
    return MessageReceipt(reference=f"{stream}/{sequence}", sequence=sequence)


async def _connected(url: str) -> Any:
    """A connection for one attempt: it never comes back by itself, and so never sends again what it had kept.

    Raises Refused(tool_missing) where the client is not installed.
    """
    if find_spec("nats") is None:
        raise Refused("tool_missing", tool="The Python package nats-py", install=INSTALL)
    client: Any = import_module("nats")
    given = environment()
    return await client.connect(
        url,
        allow_reconnect=False,
        max_reconnect_attempts=0,
        connect_timeout=SECONDS,
        user_credentials=given.get(CREDENTIALS),
        token=given.get(TOKEN),
        error_cb=_quiet,
    )


async def _quiet(problem: Exception) -> None:
    """Who awaits the exchange hears of it; the client would print it beside."""
    del problem
