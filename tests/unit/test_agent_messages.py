"""Messages of a model as JSON and back, the difference that a question is stored as, and what a tool returned."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, TextOutput, ToolOutput
from pydantic_ai.messages import (
    BinaryContent,
    BinaryImage,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from counterfoil.agents.agent import output_type_of
from counterfoil.agents.messages import Thread, messages_of, plain_of, response_of, returned_of, returned_plain, said

PICTURE = BinaryImage(b"\x89PNG\x00\xff", media_type="image/png")
AT = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)


class Colour(Enum):
    RED = "red"


class Order(BaseModel):
    number: str
    price: Decimal
    at: datetime


@dataclass
class Parcel:
    number: str
    weights: list[float]


def request(*parts: Any, **more: Any) -> ModelRequest:
    return ModelRequest(parts=list(parts), **more)


def response(*parts: Any, **more: Any) -> ModelResponse:
    return ModelResponse(parts=list(parts), timestamp=AT, **more)


EVERY: dict[str, ModelMessage] = {
    "system prompt": request(SystemPromptPart("Be kind.", timestamp=AT), instructions="Be brief.", timestamp=AT),
    "text of a user": request(UserPromptPart("Where is my money?", timestamp=AT)),
    "picture of a user": request(UserPromptPart(["See: ", PICTURE, ImageUrl("https://e.org/a.png")], timestamp=AT)),
    "document": request(UserPromptPart([DocumentUrl("https://e.org/a.pdf")], timestamp=AT)),
    "return": request(ToolReturnPart("look", {"order": "o-1", "price": 1.5}, "c-1", timestamp=AT)),
    "return with a picture": request(ToolReturnPart("look", [PICTURE, "text"], "c-1", timestamp=AT)),
    "failed return": request(ToolReturnPart("look", "no", "c-1", outcome="failed", timestamp=AT)),
    "retry": request(ToolReturnPart("look", "once more", "c-1", outcome="retried", timestamp=AT)),
    "text": response(TextPart("It is here."), usage=RequestUsage(input_tokens=3, output_tokens=2), model_name="m"),
    "calls": response(TextPart("I look."), ToolCallPart("look", {"order": "o-1"}, "c-1"), ToolCallPart("look", "{}", "c")),
    "thoughts": response(ThinkingPart("hm", id="t-1", signature="s", provider_name="p"), TextPart("So.")),
    "tool of the provider": response(
        NativeToolCallPart("web_search", {"q": "x"}, "n-1", provider_name="p"),
        NativeToolReturnPart("web_search", {"found": 1}, "n-1", provider_name="p", timestamp=AT),
    ),
    "sound": request(UserPromptPart([BinaryContent(b"RIFF\x00\xff", media_type="audio/wav")], timestamp=AT)),
    "file": response(FilePart(PICTURE)),
    "details": response(TextPart("x"), provider_response_id="r-1", finish_reason="stop", provider_details={"a": [1]}),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_every_message_is_the_same_after_it_was_stored(name: str) -> None:
    (plain,) = plain_of([EVERY[name]])
    (stored,) = json.loads(json.dumps([plain]))
    assert messages_of([stored]) == [EVERY[name]]
    assert plain_of(messages_of([stored])) == [plain]


def test_a_saved_decision_is_a_response() -> None:
    answer = EVERY["calls"]
    assert response_of(plain_of([answer])[0]) == answer
    with pytest.raises(TypeError, match="a response of the model"):
        response_of(plain_of([EVERY["retry"]])[0])


def test_what_is_compared_leaves_out_times_runs_and_prompts() -> None:
    one = request(SystemPromptPart("Be kind."), UserPromptPart("Hi", timestamp=AT), instructions="A", run_id="r-1")
    other = request(UserPromptPart("Hi"), instructions="B", run_id="r-2")
    assert said(plain_of([one])[0]) == said(plain_of([other])[0])
    for changed in ("text", "calls", "thoughts", "file"):
        assert said(plain_of([EVERY[changed]])[0]) != said(plain_of([EVERY["details"]])[0])


# ---------------------------------------------------------------------- the thread


def plain(*names: str) -> list[dict[str, Any]]:
    return plain_of([EVERY[name] for name in names])


def test_a_longer_list_is_stored_as_what_is_new() -> None:
    thread, first = Thread(), plain("text of a user", "calls")
    assert thread.change_to(first) == (0, first)
    longer = plain("text of a user", "calls", "return")
    assert thread.change_to(longer) == (2, longer[2:])
    assert thread.change_to(longer) == (3, [])


def test_a_changed_list_keeps_what_is_before_the_change() -> None:
    thread = Thread()
    thread.change_to(plain("text of a user", "calls", "return"))
    other = plain("text of a user", "text", "return")
    assert thread.change_to(other) == (1, other[1:])
    assert thread.change_to(other[:1]) == (1, [])
    assert len(thread.plain) == len(thread.heads) == 1


def test_the_head_says_everything_that_was_said() -> None:
    """The same list has the same head, however it came about; another list has another one."""
    names = ("text of a user", "calls", "return", "text")
    whole, pieces = Thread(), Thread()
    whole.add(plain(*names))
    empty = whole.heads[0]
    for n in range(1, len(names) + 1):
        pieces.change_to(plain(*names[:n]))
    assert pieces.head == whole.head and pieces.heads == whole.heads
    pieces.keep(1)
    assert pieces.head == empty
    pieces.add(plain(*names[1:]))
    assert pieces.head == whole.head
    heads = {Thread().head, whole.head}
    for order in (("calls", "text of a user"), ("text of a user",), ("calls",)):
        other = Thread()
        other.add(plain(*order))
        heads.add(other.head)
    assert len(heads) == 5


# ---------------------------------------------------------------------- what a tool returned

RETURNED: dict[str, tuple[Any, Any]] = {
    "text": ("found", "found"),
    "nothing": (None, None),
    "number": (1.5, 1.5),
    "list": ([1, "a", None], [1, "a", None]),
    "object": ({"a": {"b": [1]}}, {"a": {"b": [1]}}),
    "model": (
        Order(number="o-1", price=Decimal("4.20"), at=AT),
        {"number": "o-1", "price": "4.20", "at": "2026-11-30T08:00:00Z"},
    ),
    "dataclass": (Parcel("p-1", [1.0, 2.5]), {"number": "p-1", "weights": [1.0, 2.5]}),
    "models in a list": ([Parcel("p-1", []), Colour.RED], [{"number": "p-1", "weights": []}, "red"]),
    "picture": (PICTURE, PICTURE),
    "picture in a list": (["see", PICTURE], ["see", PICTURE]),
    "picture in an object": ({"scan": PICTURE}, {"scan": PICTURE}),
    "link": (ImageUrl("https://e.org/a.png"), ImageUrl("https://e.org/a.png")),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_a_tool_returned_is_the_same_for_the_model_after_it_was_stored(name: str) -> None:
    given, for_the_model = RETURNED[name]
    stored = json.loads(json.dumps(returned_plain(given)))
    assert returned_of(stored) == for_the_model
    # The model is told the same by the first execution and by every replay.
    assert returned_plain(returned_of(stored)) == stored


@pytest.mark.parametrize(
    "given",
    [
        ToolReturn(return_value="ok", content="See this.", metadata={"source": "crm"}),
        ToolReturn(return_value={"n": 1}, content=["See: ", PICTURE, ImageUrl("https://e.org/a.png")]),
        ToolReturn(return_value=PICTURE, content=[PICTURE], metadata=None),
        ToolReturn(return_value=Order(number="o-1", price=Decimal(1), at=AT), metadata={"at": AT, "order": Parcel("p", [])}),
        ToolReturn(return_value="only"),
    ],
    ids=["text", "pictures", "a picture twice", "objects", "alone"],
)  # fmt: skip
def test_what_a_tool_says_beside_its_result_is_kept(given: ToolReturn[Any]) -> None:
    stored = json.loads(json.dumps(returned_plain(given)))
    back = returned_of(stored)
    if given.content is None and given.metadata is None:
        assert back == given.return_value
        return
    assert isinstance(back, ToolReturn)
    assert back.content == given.content
    assert returned_plain(back) == stored
    if isinstance(given.metadata, dict):
        assert isinstance(back.metadata, dict) and back.metadata.keys() == given.metadata.keys()


def test_what_has_no_json_form_is_not_stored() -> None:
    with pytest.raises(Exception, match="serialize"):
        returned_plain(object())


# ---------------------------------------------------------------------- the type of a turn's result


def text_of(text: str) -> int:
    return int(text)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (str, str),
        (Order, Order),
        ([Order, str], Order | str),
        ([str, int, Parcel], str | int | Parcel),
        (ToolOutput(Order, name="give"), Order),
        (NativeOutput(Order), Order),
        (PromptedOutput(Order), Order),
        ([ToolOutput(Order), ToolOutput(Parcel)], Order | Parcel),
        (list[Order], list[Order]),
        (dict[str, int], dict[str, int]),
        (Order | str, Order | str),
        (NativeOutput([Order, Parcel]), Order | Parcel),
        (TextOutput(text_of), Any),
        (text_of, Any),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_a_turn_gives_what_its_agent_gives(output: Any, expected: Any) -> None:
    agent: Agent[None, Any] = Agent(output_type=output)
    assert output_type_of(agent) == expected
