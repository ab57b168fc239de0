"""An agent's answer is revised: the same message, asked anew with a reason; both versions stay, and nothing is sent twice."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil.app.decisions import DecisionFilter
from counterfoil.model.errors import Refused
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, House
from tests.engine.talks import refused
from tests.engine.writes import create_case


class Desk:
    """Its model makes the calls of `script`, one after the other in each turn, and then says `says`."""

    def __init__(self, house: House, **how: Any) -> None:
        self.house = house
        self.script: list[tuple[str, dict[str, Any]]] = []
        self.says = "first"
        self.heard: list[str] = []
        self.paid: list[int] = []
        agent = Agent(FunctionModel(self.answers))
        agent.tool_plain(self.pay)
        house.app.agent("desk", agent=agent, budget=BUDGET, operations=[create_case(house.app, **how)])
        house.found()

    def pay(self, amount: int) -> str:
        self.paid.append(amount)
        return f"paid {amount}"

    def answers(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        self.heard = [str(getattr(part, "content", "")) for message in messages for part in message.parts]
        made = 0 if not isinstance(messages[-1].parts[-1], ToolReturnPart) else 1
        if self.script and (made == 0 or len(self.script) > 1):
            return ModelResponse(parts=[ToolCallPart(*self.script.pop(0))])
        return ModelResponse(parts=[TextPart(self.says)])

    async def say(self, text: str, **more: Any) -> str:
        sent = await self.house.app.conversations.send(text, conversation="c", request_id=text, agent="desk", **more)
        await self.house.state(sent["run_id"], "completed")
        return str(sent["run_id"])

    async def revised(self, reason: str, says: str) -> str:
        self.says = says
        sent = await self.house.app.conversations.revise("c", reason=reason, by="ana")
        await self.house.state(sent["run_id"], "completed", "parked")
        return str(sent["run_id"])


@pytest.fixture
def desk(house_with_crm: House) -> Desk:
    return Desk(house_with_crm)


def driven(desk: Desk, body: Any) -> None:
    async def all_of_it() -> None:
        async with desk.house.working():
            await body()
        desk.house.clean()

    asyncio.run(all_of_it())


def test_both_versions_stay_and_the_newer_one_says_what_it_revises(desk: Desk) -> None:
    decisions = desk.house.app.decisions

    async def body() -> None:
        first = await desk.say("where is it?")
        second = await desk.revised("too short", "second")
        third = await desk.revised("still too short", "third")
        listed = {view["run_id"]: view for view in decisions.list()["items"]}
        assert [listed[run]["revises"] for run in (first, second, third)] == [
            None, listed[first]["decision_id"], listed[second]["decision_id"],
        ]  # fmt: skip
        assert [listed[run]["reason"] for run in (first, second, third)] == [None, "too short", "still too short"]
        assert [listed[run]["verdict"] for run in (first, second, third)] == ["corrected", "corrected", "none"]
        (said,) = listed[first]["verdicts"]
        assert (said["how"], said["comment"], said["decision_id"]) == (
            "revise",
            "too short",
            listed[second]["decision_id"],
        )
        cases = {
            case["metadata"]["run_id"]: case for case in decisions.cases(DecisionFilter(verdict="corrected"))["cases"]
        }
        assert set(cases) == {first, second}
        shown = decisions.show(listed[third]["decision_id"])
        assert (shown["revises"], shown["reason"]) == (listed[second]["decision_id"], "still too short")
        items = desk.house.app.conversations.show("c")["transcript"]["items"]
        assert [turn["messages"][-1]["text"] for turn in items] == ["first", "second", "third"]
        assert [turn["revises"] and turn["revises"]["reason"] for turn in items] == [
            None,
            "too short",
            "still too short",
        ]
        assert "Message: where is it?" in items[2]["text"] and "Reason: still too short" in items[2]["text"]

    driven(desk, body)


def test_what_the_first_version_sent_is_known_and_not_sent_again(desk: Desk, crm: SandboxProcess) -> None:
    """The model is told the receipt; planning the same write again it meets the business key."""

    async def body() -> None:
        order = {"number": "o-1", "amount": 5}
        desk.script = [("create_case", order)]
        await desk.say("open a case")
        desk.script = [("create_case", order)]
        again = await desk.revised("be kinder", "kinder")
        (operation,) = desk.house.operations(again)
        assert (operation.status.value, operation.reused_from is not None) == ("succeeded", True)
        assert len(crm.records()) == 1 and sum("reference" in text for text in desk.heard) == 2

    driven(desk, body)


def test_an_undeclared_call_that_is_equal_is_for_a_person_to_allow(desk: Desk) -> None:
    async def body() -> None:
        desk.script = [("pay", {"amount": 5})]
        await desk.say("pay")
        desk.script = [("pay", {"amount": 5})]
        again = await desk.revised("be kinder", "kinder")
        run = desk.house.run(again)
        assert (run.state.value, run.reason, desk.paid) == ("parked", "possible_repeat", [5])
        desk.script = []
        await desk.house.app.conversations.abort("c", reason="no")
        await desk.house.state(again, "cancelled", "parked")

    driven(desk, body)


def test_a_revision_is_one_turn_however_often_it_is_asked_for_and_needs_an_answer(desk: Desk) -> None:
    talks = desk.house.app.conversations

    async def body() -> None:
        await desk.say("one")
        await talks.reset("c")
        assert (await refused("nothing_to_revise", talks.revise("c", reason="x"))).details["conversation"] == "c"
        await desk.say("two")
        with pytest.raises(Refused):
            await talks.revise("c", reason=" ")

    async def unclaimed() -> None:
        first = await talks.revise("c", reason="x")
        again = await talks.revise("c", reason="x")
        assert (first["admitted"], again["admitted"], again["run_id"]) == ("new", "existing", first["run_id"])
        await refused("conversation_busy", talks.revise("c", reason="y"))
        await talks.abort("c")

    driven(desk, body)
    asyncio.run(unclaimed())
