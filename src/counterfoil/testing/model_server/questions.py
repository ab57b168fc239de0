"""What a request asks for, whichever of the two protocols it speaks, and an answer in neither's words."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from counterfoil.testing.loopback.digest import as_object, as_objects, digest_of
from counterfoil.testing.model_server.answers import Schema, answer_to, sentence
from counterfoil.testing.model_server.reading import Prompt

_OUTPUT_TOOL = "final_result"
"""What Pydantic AI calls the tool whose arguments are the output."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request. With a tool the answer is its arguments; with only a schema it is JSON text; else it is a sentence."""

    model: str
    text: str
    tool: str | None = None
    schema: Schema | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `value` is the JSON value of the output, or the sentence."""

    n: int
    tool: str | None
    value: object

    @property
    def digest(self) -> str:
        """`sha256:<hex>` of the RFC 8785 form of the value."""
        return digest_of(self.value)

    @property
    def text(self) -> str:
        """The value as the protocols carry it."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value)


def ask(question: Question, n: int, script: Sequence[dict[str, object]]) -> Answer:
    """The `n`-th answer (from 1): the script's `n`-th item while it lasts, then one made for the schema."""
    if n <= len(script):
        item = script[n - 1]
        tool = item.get("tool", question.tool)
        return Answer(
            n, tool if isinstance(tool, str) else None, item["arguments"] if "arguments" in item else item["text"]
        )
    prompt = Prompt(question.text)
    if question.schema is None:
        return Answer(n, None, f"This is {sentence(prompt, n)}.")
    return Answer(n, question.tool, answer_to(question.schema, prompt, n))


def chosen_tool(tools: list[dict[str, object]], choice: object) -> dict[str, object] | None:
    """The tool to answer with, each given as {name, parameters}: a named one, else the output tool, else any if one must be."""
    wanted = as_object(choice)
    name = wanted.get("name") or as_object(wanted.get("function")).get("name")
    named = [tool for tool in tools if tool.get("name") == name]
    outputs = [tool for tool in tools if str(tool.get("name")).startswith(_OUTPUT_TOOL)]
    return next(iter(named or outputs or (tools if choice == "required" else [])), None)


def words_of(messages: object) -> str:
    """What the user and the tools have said, in order. Takes a string or the messages of either protocol."""
    if isinstance(messages, str):
        return messages
    return "\n".join(
        filter(
            None, (_words(m) for m in as_objects(messages) if m.get("role") not in {"system", "developer", "assistant"})
        )
    )


def _words(message: dict[str, object]) -> str:
    content = message.get("content", message.get("output"))
    if isinstance(content, list):
        parts = (as_object(part).get("text") for part in cast("list[object]", content))
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
