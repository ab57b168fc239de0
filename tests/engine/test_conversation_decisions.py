"""Decisions of a conversation: what each turn was asked is put together from all turns before it, compaction included."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil.agents.messages import plain_of, said
from counterfoil.app.decisions import DecisionFilter
from counterfoil.app.replays import Replay, replay
from tests.engine.house import BUDGET, House


class Spoken:
    """An agent with one tool, whose model looks up before it answers; `asked` is what the model was really given."""

    def __init__(self, house: House) -> None:
        self.asked: list[list[dict[str, Any]]] = []
        self.summaries = 0
        self.looked = 0

        def answered(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if "summary" in (info.instructions or ""):
                self.summaries += 1
                return ModelResponse(parts=[TextPart("It was about tea.")])
            self.asked.append([said(each) for each in plain_of(messages)])
            last = messages[-1].parts[-1]
            found = isinstance(last, ToolReturnPart)
            return ModelResponse(parts=[TextPart("So.") if found else ToolCallPart("look_up", {"item": "tea"})])

        agent = Agent(FunctionModel(answered), name="clerk", instructions="You are the clerk.")

        @agent.tool_plain
        def look_up(item: str) -> str:
            self.looked += 1
            return f"{item} is here"

        self.agent = agent
        house.app.agent("clerk", agent=agent, budget=BUDGET, prompt_version="1", safe=["look_up"])


@pytest.fixture
def talked(house: House) -> Spoken:
    """Four turns of one conversation, a compaction after each once it is long, and one turn of another."""
    spoken = Spoken(house)

    async def story() -> None:
        house.found()
        async with house.working():
            for n, (name, text) in enumerate(
                [("a", "one"), ("a", "two"), ("b", "other"), ("a", "three"), ("a", "four")]
            ):
                if n == 3:
                    await house.app.conversations.settings("a", changes={"compact_after": 1})
                sent = await house.app.conversations.send(text, conversation=name, request_id=f"r{n}", agent="clerk")
                await house.state(sent["run_id"], "completed")
                if n >= 3:
                    await quiet(house)
        house.clean()

    asyncio.run(story())
    return spoken


async def quiet(house: House) -> None:
    """Until every run has ended, compactions too."""
    for run in house.app.runs.list()["items"]:
        await house.state(run["run_id"], "completed")


def asked_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [said(each) for each in case["inputs"]["messages"]]


def test_every_turn_was_asked_what_the_record_says(house: House, talked: Spoken) -> None:
    found = house.app.decisions.cases()
    assert (found["missing"], found["more"]) == ([], False)
    turns = [case for case in found["cases"] if case["metadata"]["kind"] == "turn"]
    assert [asked_of(case) for case in turns] == talked.asked
    assert len(turns) == 10 and max(len(each) for each in talked.asked) > 4


def test_a_compaction_is_a_decision_with_its_own_instructions(house: House, talked: Spoken) -> None:
    cases = house.app.decisions.cases(DecisionFilter(conversation="a"))["cases"]
    compactions = [case for case in cases if case["metadata"]["kind"] == "compaction"]
    assert len(compactions) == talked.summaries > 0
    assert {case["expected_output"] for case in compactions} == {"It was about tea."}
    assert "[user-prompt] one" in compactions[0]["inputs"]["input"]
    assert "summary" in compactions[0]["inputs"]["instructions"]


def test_usage_by_conversation(house: House, talked: Spoken) -> None:
    items = house.app.decisions.usage(by="conversation")["items"]
    assert {item["key"]: item["decisions"] for item in items} == {"a": 8 + talked.summaries, "b": 2}
    assert all(item["unpriced"] == item["decisions"] for item in items)
    only = house.app.decisions.usage(DecisionFilter(conversation="b"), by="agent")
    assert [(item["key"], item["asked"]) for item in only["items"]] == [("clerk", 2)]
    assert {case["metadata"]["conversation"] for case in house.app.decisions.cases()["cases"]} == {"a", "b"}


@pytest.mark.parametrize("known", [False, True])
def test_a_conversation_is_replayed_and_nothing_runs(house: House, talked: Spoken, known: bool) -> None:
    looked, asked = talked.looked, len(talked.asked)
    cases = house.app.decisions.cases()["cases"]
    held = asyncio.run(replay(cases, Replay("test", agent=talked.agent if known else None)))
    assert (held["failed"], len(held["items"]), held["now"]["requests"]) == (0, len(cases), len(cases))
    assert (talked.looked, len(talked.asked)) == (looked, asked)


def test_a_turn_before_that_is_gone_is_said(house: House, talked: Spoken) -> None:
    folder = Path(f"{house.folder}/db/house.db.artifacts")
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert kept, "the parameters of a request are kept by digest"
    for path in kept:
        path.write_bytes(b"other bytes")
    found = house.app.decisions.cases(DecisionFilter(conversation="b"))
    assert found["cases"] == []
    assert {each["code"] for each in found["missing"]} == {"artifact_damaged"}
