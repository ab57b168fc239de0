"""Messages of a model as JSON, and what a replay compares of them: what was said, not when, nor under which prompt."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import to_jsonable_python

from counterfoil.model.codec import compact

# A new prompt or another clock makes no other conversation: a saved decision is reused under a changed prompt, too.
_APART = frozenset({"timestamp", "run_id", "conversation_id", "metadata", "instructions"})
_PROMPTS = frozenset({"system-prompt", "instruction-baseline", "instruction-delta"})
_START = "0" * 64


def plain_of(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """JSON of messages, as Pydantic AI writes it."""
    return ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")


def messages_of(plain: Sequence[dict[str, Any]]) -> list[ModelMessage]:
    """The messages that `plain_of` wrote."""
    return ModelMessagesTypeAdapter.validate_python(list(plain))


def response_of(plain: dict[str, Any]) -> ModelResponse:
    (response,) = messages_of([plain])
    if not isinstance(response, ModelResponse):
        raise TypeError("a saved decision is a response of the model")
    return response


def said(message: dict[str, Any]) -> dict[str, Any]:
    """What is compared of a message: its kind and its parts, without times, ids of runs and prompts."""
    parts = [
        {name: value for name, value in part.items() if name not in _APART}
        for part in message["parts"]
        if part.get("part_kind") not in _PROMPTS
    ]
    return {"kind": message["kind"], "parts": parts}


class Thread:
    """A list of messages and, beside each, the digest of everything said up to it. A longer list costs what is new."""

    def __init__(self) -> None:
        self.plain: list[dict[str, Any]] = []
        self.heads: list[str] = []

    @property
    def head(self) -> str:
        return self.heads[-1] if self.heads else _START

    def keep(self, count: int) -> None:
        """Forget what is behind the first `count` messages."""
        del self.plain[count:], self.heads[count:]

    def add(self, messages: Iterable[dict[str, Any]]) -> None:
        for message in messages:
            text = compact(said(message))
            self.plain.append(message)
            self.heads.append(hashlib.sha256((self.head + text).encode()).hexdigest())

    def change_to(self, messages: Sequence[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
        """Become this list. Gives how many of the messages before stayed, and those that were added behind them."""
        kept = 0
        for mine, given in zip(self.plain, messages, strict=False):
            if mine is not given and said(mine) != said(given):
                break
            kept += 1
        self.keep(kept)
        added = list(messages[kept:])
        self.plain[:] = messages[:kept]  # the same by what was said; the next comparison finds the very same objects
        self.add(added)
        return kept, added


def returned_plain(value: Any) -> dict[str, Any]:
    """What a tool returned, as JSON that keeps rich content. Raises what Pydantic raises for what has no JSON form."""
    content, user, metadata = value, None, None
    if isinstance(value, ToolReturn):
        content, user, metadata = value.return_value, value.content, value.metadata
    result, beside = plain_of([_carrying(content, user)])[0]["parts"]
    said_beside = None if user is None else beside["content"]
    return {"value": result["content"], "content": said_beside, "metadata": to_jsonable_python(metadata)}


def returned_of(plain: dict[str, Any]) -> Any:
    """What `returned_plain` wrote, for the model."""
    user = {"part_kind": "user-prompt", "content": "" if plain["content"] is None else plain["content"]}
    (message,) = messages_of([{"kind": "request", "parts": [_PART | {"content": plain["value"]}, user]}])
    result, beside = message.parts
    assert isinstance(result, ToolReturnPart) and isinstance(beside, UserPromptPart)
    if plain["content"] is None and plain["metadata"] is None:
        return result.content
    content = None if plain["content"] is None else beside.content
    return ToolReturn(return_value=result.content, content=content, metadata=plain["metadata"])


_PART = {"part_kind": "tool-return", "tool_name": "tool", "tool_call_id": "call"}


def _carrying(content: Any, user: Any) -> ModelMessage:
    return ModelRequest(
        parts=[
            ToolReturnPart(tool_name="tool", content=content, tool_call_id="call"),
            UserPromptPart("" if user is None else user),
        ]
    )
