"""Slack: a message in a channel or a thread. Slack takes no key: our id stands in the message's metadata, and the history shows it.

The app needs the scopes `chat:write`, `metadata.message:read` and `channels:history` (or that of its kind of channel).

    app.receiver("slack", url="https://slack.com", credential=Bearer(Env("SLACK_TOKEN")), environment="live")
    post = slack.post(app, receiver="slack", owner="support")
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "slack_post_message"
MARK = "counterfoil_operation"  # the type of our metadata
PAGE = 200
CLOCKS = timedelta(hours=1)  # by so much the two sides' clocks may differ


class Message(BaseModel):
    """`number`: yours. `channel`: its id. `thread`: the `ts` of the message that is answered."""

    number: str
    channel: Annotated[str, Target(), Field(pattern=r"^[A-Z0-9]+$")]
    text: str
    thread: str | None = None


class MessageReceipt(Receipt):
    """`reference`: channel and `ts`, as CHANNEL/TS."""


def post(
    app: Declares,
    *,
    receiver: str = "slack",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Message, MessageReceipt]:
    """`chat.postMessage`. `overrides`: what you know better than the catalogue, by attribute."""
    return declared(app, slack_post, post_contract(overrides), receiver, **governed)


def post_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `post`: an answer that says `ok: false` inside a 200 is no success."""
    return contract_of(ENTRY, action="chat.postMessage", find=find_message, overrides=overrides)


async def slack_post(call: Call, message: Message) -> MessageReceipt:
    """One message; the contract puts our operation's id into its metadata."""
    asked: dict[str, Any] = {"channel": message.channel, "text": message.text, "metadata": {"event_type": MARK}}
    if message.thread is not None:
        asked["thread_ts"] = message.thread
    made = (await call.http.post("/api/chat.postMessage", json=asked)).json()
    return _receipt(message, made)


async def find_message(ask: Ask, message: Message) -> Seen[MessageReceipt]:
    """Every message since the first attempt whose metadata hold our id. Slack rewrites texts, so they are not compared."""
    since = (ask.first_sent_at - CLOCKS).timestamp()
    params: dict[str, Any] = {"channel": message.channel, "include_all_metadata": "true", "limit": PAGE}
    place = "/api/conversations.history"
    if message.thread is not None:
        place, params["ts"] = "/api/conversations.replies", message.thread
    found: list[Found[MessageReceipt]] = []
    cursor = ""
    while True:
        page = (await ask.http.get(place, params={**params, "oldest": f"{since:.6f}", "cursor": cursor})).json()
        if page["ok"] is not True:
            raise LookupError(f"Slack answered {page.get('error')}")  # nobody could be asked: not absence
        found += [Found(_receipt(message, item)) for item in page["messages"] if _mark_of(item) == ask.operation_id]
        told: Mapping[str, Any] = page.get("response_metadata") or {}
        cursor = told.get("next_cursor") or ""
        if not cursor:
            return Seen(found, complete=not page.get("has_more"))


def _mark_of(item: Mapping[str, Any]) -> Any:
    metadata: Mapping[str, Any] = item.get("metadata") or {}
    payload: Mapping[str, Any] = metadata.get("event_payload") or {}
    return payload.get("operation") if metadata.get("event_type") == MARK else None


def _receipt(message: Message, shown: Mapping[str, Any]) -> MessageReceipt:
    return MessageReceipt(reference=f"{message.channel}/{shown['ts']}")
