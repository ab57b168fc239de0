"""What tools, their own functions and models give that is long, or that no record can hold: it happened, and is told so."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.models.wrapper import WrapperModel

from counterfoil.agents import DidNotHappen, Happened, agent_tool, current_run
from counterfoil.app.doctor_artifacts import lost_artifacts, named_artifacts
from counterfoil.model.conversation import Turn
from counterfoil.model.operation import OperationRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.artifacts import ArtifactStore
from counterfoil.store.port import StorageError
from tests.engine.house import BUDGET, House
from tests.engine.test_agent_turn import DONE, agent_with, calls, numbered

LONG = "x" * 3_000_000
HALF = "\ud800"


class Halving(WrapperModel):
    """A provider whose SDK gives arguments as a dict, with half a character in them."""

    async def request(self, *args: Any, **kwargs: Any) -> ModelResponse:
        response = await super().request(*args, **kwargs)
        parts = [
            replace(part, args={name: str(each).replace("HALF", HALF) for name, each in part.args_as_dict().items()})
            if isinstance(part, ToolCallPart)
            else part
            for part in response.parts
        ]
        return replace(response, parts=parts)

    def request_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError  # as a model says that it cannot stream: `request` is asked then


class NoJson:
    def __repr__(self) -> str:
        return "<a screen of 4 pixels>"


class NoRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def circle() -> list[Any]:
    round_: list[Any] = []
    round_.append(round_)
    return round_


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    return House(tmp_path, monkeypatch)


class Talk:
    """A turn of an agent whose tool `pay` gives `gives`; between that and its end it sleeps, so that all is replayed."""

    def __init__(self, house: House, *answers: ModelResponse) -> None:
        self.house = house
        self.heard: list[list[ModelMessage]] = []
        said = numbered(*answers)

        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.heard.append(messages)
            return said(messages, info)

        self.agent = agent_with(model)
        self.acted: list[Any] = []

        @self.agent.tool_plain
        @agent_tool(replay="run")
        async def rest() -> str:
            await current_run().sleep(timedelta(hours=2))
            return "rested"

    def told(self, tool: str = "pay") -> list[Any]:
        """What the newest question says that the tool returned."""
        parts = [part for message in self.heard[-1] if isinstance(message, ModelRequest) for part in message.parts]
        return [part.content for part in parts if isinstance(part, ToolReturnPart) and part.tool_name == tool]

    def played(self, ends: str = "completed") -> RunRecord:
        return asyncio.run(self._played(ends))

    async def _played(self, ends: str) -> RunRecord:
        desk = self.house.app.agent("desk", agent=self.agent, budget=BUDGET)
        self.house.found()
        async with self.house.working():
            turn = await self.house.app.submit(desk.workflow, Turn(text="go"), request_id="r-1")
            run = await self._resting(turn.run_id, 0)
            for _ in range(9):
                if run.state.value != "waiting":
                    break
                self.house.clock.advance(7201)
                run = await self._resting(turn.run_id, run.fence)
        assert run.state.value == ends, (run.state, run.reason, run.sentence)
        self.house.clean()
        return run

    def _resting(self, run_id: str, fence: int) -> Coroutine[Any, Any, RunRecord]:
        """Until it has ended, is parked, or was taken up once more and waits again."""
        still = ("completed", "parked", "failed")
        return self.house.until(
            run_id, lambda run: run.state.value in still or (run.state.value == "waiting" and run.fence > fence)
        )

    def operation(self) -> OperationRecord:
        with self.house.app.open().read() as reader:
            (found,) = list(reader.rows(OperationRecord))
        return found

    def receipt(self) -> ReceiptRecord:
        with self.house.app.open().read() as reader:
            (found,) = list(reader.rows(ReceiptRecord))
        return found


REST = calls("rest")


@pytest.mark.parametrize("replay", [None, "safe"])
def test_a_long_return_is_kept_and_told_whole_after_a_replay(house: House, replay: Any) -> None:
    talk = Talk(house, calls("pay"), REST, DONE)

    @talk.agent.tool_plain
    @agent_tool(replay=replay)
    async def pay() -> dict[str, str]:
        talk.acted.append(1)
        return {"page": LONG}

    run = talk.played()
    assert talk.acted == [1] and talk.told() == [{"page": LONG}]
    opened = house.app.open()
    with opened.read() as reader:
        named = named_artifacts(reader)
        assert max(len(entry.body) for entry in reader.entries(run.run_id)) < 100_000
    kept = [digest for digest in named if LONG.encode() in opened.artifacts.read(digest)]
    assert kept and lost_artifacts(opened.artifacts, named) == []
    if replay is None:
        assert talk.operation().status.value == "succeeded"
        assert len(talk.receipt().body) < 1000


@pytest.mark.parametrize(
    ("make", "shows"),
    [
        (NoJson, "<a screen of 4 pixels>"), (NoRepr, "<NoRepr>"), (circle, "[[...]]"), (lambda: math.sin, "sin"),
        (lambda: [NoJson()] * 100_000, "characters more"), (lambda: {1: HALF}, "\ufffd"), (lambda: f"a{HALF}\0", "a\ufffd\ufffd"),
    ],
    ids=["object", "no repr", "circle", "function", "long repr", "half inside", "half"],
)  # fmt: skip
@pytest.mark.parametrize("replay", [None, "safe"])
def test_what_has_no_json_form_is_told_in_words(house: House, make: Callable[[], Any], shows: str, replay: Any) -> None:
    talk = Talk(house, calls("pay"), REST, DONE)

    @talk.agent.tool_plain
    @agent_tool(replay=replay)
    async def pay() -> Any:
        talk.acted.append(1)
        return make()

    talk.played()
    assert talk.acted == [1]
    (told,) = talk.told()
    assert shows in str(told) and len(str(told)) < 10_000
    if replay is None:
        assert talk.operation().status.value == "succeeded"


def test_where_the_disk_has_no_room_for_it_it_still_happened(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(house, calls("pay"), REST, DONE)
    save = ArtifactStore.save

    def full(self: ArtifactStore, content: bytes, *, name: str) -> Any:
        if name == "tool return":
            raise StorageError("disk_full", problem="no room")
        return save(self, content, name=name)

    monkeypatch.setattr(ArtifactStore, "save", full)

    @talk.agent.tool_plain
    async def pay() -> str:
        talk.acted.append(1)
        return LONG

    talk.played()
    assert talk.acted == [1] and "could not be kept" in talk.told()[0] and talk.operation().status.value == "succeeded"


def test_a_long_word_of_its_own_is_shortened(house: House) -> None:
    talk = Talk(house, calls("pay"), REST, DONE)

    @talk.agent.tool_plain
    async def pay() -> str:
        talk.acted.append(1)
        raise ToolFailed(f"no{HALF} " + "\x01" * 3_000_000)

    talk.played()
    assert talk.acted == [1] and talk.told()[0].startswith("no\ufffd ") and "characters more" in talk.told()[0]


def test_arguments_that_no_record_can_hold_are_not_run(house: House) -> None:
    """What would be recorded, and reviewed, is not what would be run."""
    nan = ModelResponse(parts=[ToolCallPart("pay", '{"amount": NaN}', "call-pay")])
    talk = Talk(house, nan, REST, DONE)

    @talk.agent.tool_plain
    async def pay(amount: float) -> str:
        talk.acted.append(amount)
        return "paid"

    talk.played()
    assert talk.acted == [] and "was not run" in talk.told()[0]


def test_half_a_character_in_an_answer_of_the_model_is_no_reason_to_ask_again(house: House) -> None:
    talk = Talk(house, calls("pay", order="o HALF"), REST, ModelResponse(parts=[TextPart(f"done{HALF}\0")]))
    talk.agent.model = Halving(talk.agent.model)  # type: ignore[arg-type]

    @talk.agent.tool_plain
    async def pay(order: str) -> str:
        talk.acted.append(order)
        return order

    run = talk.played()
    assert talk.acted == ["o \ufffd"] and talk.told() == ["o \ufffd"]
    assert run.result == '"done\ufffd\ufffd"' and len(talk.heard) == 3
    assert house.count(run.run_id, "asked") == house.count(run.run_id, "decision") == 3


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Happened(None), "the reference is None"),  # type: ignore[arg-type]
        (Happened(" "), "the reference is"),
        (Happened("r" * 2_000_000), "2000000 characters"),
        (Happened(f"r{HALF}"), "cannot be stored"),
        (Happened("r\0"), "cannot be stored"),
        (DidNotHappen(HALF), "cannot be stored"),
        (DidNotHappen(7), "the reason is 7"),  # type: ignore[arg-type]
    ],
    ids=["none", "blank", "long", "half", "nul", "reason half", "reason number"],
)
def test_an_answer_that_cannot_be_used_is_asked_for_again(house: House, answer: Any, problem: str) -> None:
    answers = [answer, Happened("ref-1", "paid")]
    talk = Talk(house, calls("pay"), REST, DONE)

    def asked(operation_id: str) -> Any:
        del operation_id
        return answers.pop(0) if len(answers) > 1 else answers[0]

    @talk.agent.tool_plain
    @agent_tool(resolve=asked)
    async def pay() -> str:
        talk.acted.append(1)
        raise ConnectionResetError("gone")

    run = talk.played()
    looked = [data for kind, _, data in house.entries(run.run_id) if kind == "looked_up"]
    assert len(looked) == 1 and problem in looked[0]["problem"] and len(looked[0]["problem"]) < 500
    assert talk.acted == [1] and talk.operation().status.value == "succeeded"
    assert talk.receipt().reference == "ref-1"
    assert run.crashes == 0


@pytest.mark.parametrize(
    ("make", "shows"), [(lambda: LONG, LONG), (NoJson, "<a screen of 4 pixels>")], ids=["long", "object"]
)
def test_what_its_function_says_that_it_returned_is_kept_as_a_return(
    house: House, make: Callable[[], Any], shows: str
) -> None:
    talk = Talk(house, calls("pay"), REST, DONE)

    @talk.agent.tool_plain
    @agent_tool(resolve=lambda operation_id: Happened("ref-1", make()))
    async def pay() -> str:
        talk.acted.append(1)
        raise ConnectionResetError("gone")

    run = talk.played()
    assert talk.acted == [1] and shows in str(talk.heard[-1])
    opened = house.app.open()
    with opened.read() as reader:
        named = named_artifacts(reader)
        assert max(len(entry.body) for entry in reader.entries(run.run_id)) < 100_000
    assert (shows is not LONG) or any(LONG.encode() in opened.artifacts.read(digest) for digest in named)
