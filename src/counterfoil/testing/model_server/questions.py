"""What a request asks for, whichever of the two protocols it speaks, and an answer in neither's words."""

import json
from dataclasses import dataclass
from typing import cast

from counterfoil.testing.loopback.digest import as_object, as_objects, digest_of
from counterfoil.testing.model_server.answers import Schema, answer_to, sentence
from counterfoil.testing.model_server.reading import Prompt
from counterfoil.testing.model_server.scripts import Script

_OUTPUT_TOOL = "final_result"
"""What Pydantic AI calls the tool whose arguments are the output."""
_MINE = frozenset({"function_call", "reasoning"})


@dataclass(frozen=True, slots=True)
class Question:
    """One request. With a tool the answer is its arguments; with only a schema it is JSON text; else it is a sentence.

    `last` is what was said since the model's last answer. `streamed`: the answer is wanted piece by piece.
    """

    model: str
    text: str
    tool: str | None = None
    schema: Schema | None = None
    last: str = ""
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model makes. `arguments` is JSON text."""

    call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `value` is the JSON value of the output, the sentence, or {text, calls} where several tools are called."""

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

    @property
    def words(self) -> str | None:
        """What is said beside the calls, or alone; None where there are calls only."""
        if self.tool is not None:
            return None
        if _plans(self.value):
            said = as_object(self.value)["text"]
            return said if isinstance(said, str) else None
        return self.text

    @property
    def calls(self) -> list[ToolCall]:
        """The tools that are called, in order."""
        if self.tool is not None:
            return [ToolCall(f"call_{self.n}", self.tool, self.text)]
        if not _plans(self.value):
            return []
        made = as_objects(as_object(self.value)["calls"])
        return [
            ToolCall(f"call_{self.n}_{k}", str(call["tool"]), json.dumps(call["arguments"]))
            for k, call in enumerate(made)
        ]


def ask(question: Question, n: int, script: Script) -> Answer:
    """The `n`-th answer (from 1): what the script says, else one made for the schema."""
    item = script.item(n, question.last, question.text)
    if item is not None:
        if "calls" in item:
            return Answer(n, None, {"text": item.get("text"), "calls": item["calls"]})
        tool = item.get("tool", question.tool if "arguments" in item else None)
        return Answer(
            n, tool if isinstance(tool, str) else None, item["arguments"] if "arguments" in item else item["text"]
        )
    prompt = Prompt(question.text)
    if question.schema is None:
        return Answer(n, None, f"This is {sentence(prompt, n)}.")
    return Answer(n, question.tool, answer_to(question.schema, prompt, n))


def _plans(value: object) -> bool:
    return as_object(value).keys() == {"text", "calls"}


def chosen_tool(tools: list[dict[str, object]], choice: object) -> dict[str, object] | None:
    """The tool to answer with, each given as {name, parameters}: a named one, else the output tool, else any if one must be."""
    wanted = as_object(choice)
    name = wanted.get("name") or as_object(wanted.get("function")).get("name")
    named = [tool for tool in tools if tool.get("name") == name]
    outputs = [tool for tool in tools if str(tool.get("name")).startswith(_OUTPUT_TOOL)]
    return next(iter(named or outputs or (tools if choice == "required" else [])), None)


def last_of(messages: object) -> object:
    """The messages since the model's last answer, of either protocol."""
    if not isinstance(messages, list):
        return messages
    given = as_objects(cast("object", messages))
    mine = [
        at for at, message in enumerate(given) if message.get("role") == "assistant" or message.get("type") in _MINE
    ]
    return given[max(mine, default=-1) + 1 :]


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
