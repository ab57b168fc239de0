"""The transcript of a turn: a call that was held, what one may not read, and a fork whose parent one may not see."""

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil.app.desk import Desk
from counterfoil.app.turns import turn_in_full
from counterfoil.console.pages.conversations import parent_of
from counterfoil.model.errors import Refused
from tests.engine.house import BUDGET, House

NOBODY_KNOWS = ConnectionError("gone")


def speaking(house: House, name: str = "desk") -> list[int]:
    """An agent that pays twice in two answers where it is told to, and else says what it heard. Gives what was really paid."""
    acted: list[int] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        asked = sum(isinstance(message, ModelResponse) for message in messages)
        said = next(part for m in messages for part in m.parts if isinstance(part, UserPromptPart))
        if said.content == "pay" and asked < 2:
            return ModelResponse(parts=[ToolCallPart("pay", {"amount": asked}, f"call-{asked}")])
        return ModelResponse(parts=[TextPart(f"heard {said.content}")])

    agent = Agent(FunctionModel(answer))

    @agent.tool_plain
    def pay(amount: int) -> str:
        acted.append(amount)
        raise NOBODY_KNOWS

    house.app.agent(name, agent=agent, budget=BUDGET)
    return acted


async def said(house: House, text: str, conversation: str, agent: str = "desk") -> str:
    sent = await house.app.conversations.send(text, conversation=conversation, request_id=text, agent=agent)
    return str(sent["run_id"])


def calls_in(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for item in items if item["kind"] == "decision" for call in item["calls"]]


def paying(house: House) -> str:
    """A turn whose first payment was interrupted and resolved, and whose second one was held. Gives its run."""
    acted = speaking(house)
    house.found()

    async def story() -> str:
        async with house.working():
            run_id = await said(house, "pay", "c")
            await house.state(run_id, "waiting")  # as after every attempt that failed, for a second
            house.clock.advance(2)
            run = await house.state(run_id, "parked")
            first, second = calls_in(turn_in_full(house.app.open(), run_id))
            assert run.reason == "interrupted_tool"
            assert (first["state"], first["was_interrupted"], second["state"]) == ("interrupted", True, "held")
            (operation,) = house.operations(run_id)
            await house.app.operations.resolve(
                operation.operation_id, as_="succeeded", by=house.app.access.in_development("ana"), reason="seen there",
                evidence="pay-1 stands there", expect_version=operation.version, reference="pay-1",
            )  # fmt: skip
            await house.state(run_id, "completed")
        assert acted == [0], "the second payment was never run"
        return run_id

    return asyncio.run(story())


def test_a_call_that_was_held_is_told_as_such(house: House) -> None:
    run_id = paying(house)
    items = turn_in_full(house.app.open(), run_id)
    first, held = calls_in(items)
    assert (first["what"], first["was_interrupted"], len(first["operations"])) == ("undeclared", True, 1)
    assert (held["state"], held["operations"], held["arguments"]) == ("held", [], {"amount": 1})
    assert "not" in held["failed"], "what the model was told of it"
    assert any(item["kind"] == "heard" for item in items)


def granted(house: House, *grants: tuple[str, str | None, str | None]) -> Desk:
    """ana's desk, whose roles may do these: (verb, workflow, kind)."""
    for role in ("manager", "lead", "ops"):
        for verb, workflow, kind in grants:
            asyncio.run(house.app.access.grants.grant(role, verb, workflow=workflow, kind=kind))
    return house.app.desk(house.app.access.in_development("ana"))


def test_records_of_kinds_that_one_may_not_read_are_withheld_one_by_one(house: House) -> None:
    run_id = paying(house)
    at = granted(house, ("read", "desk", "conversation"))
    items = at.turns.items(run_id)
    by_kind = {item["kind"]: item for item in items}
    assert by_kind["said"]["text"] is not None and by_kind["said"]["withheld"] == []
    answer = next(item for item in items if item["kind"] == "decision" and item["said_as"] is not None)
    assert answer["text"] == "heard pay", "what was said to the user is of the conversation"
    assert (answer["usage"], answer["model"], answer["withheld"]) == (None, None, ["decisions"])
    first, held = calls_in(items)
    assert (first["arguments"], first["returned"]) == (None, None)
    assert set(first["withheld"]) == {"decisions", "payloads", "receipts"}
    assert (held["arguments"], held["failed"]) == (None, None)
    more = granted(house, ("read", "desk", "decisions"))
    first, held = calls_in(more.turns.items(run_id))
    assert held["arguments"] == {"amount": 1}, "what was only planned is the decision's"
    assert (first["arguments"], first["withheld"]) == (None, ["payloads", "receipts"]), "a write's is a payload"


def test_a_fork_whose_parent_one_may_not_see_tells_no_more_of_it_than_its_turns(house: House) -> None:
    speaking(house)
    speaking(house, "other")
    house.found()

    async def story() -> str:
        async with house.working():
            before = await said(house, "hello", "theirs", "other")
            await house.state(before, "completed")
            await house.app.conversations.fork("theirs", into="mine")
            await house.app.conversations.handoff("mine", to="desk")
            own = await said(house, "mine now", "mine")
            await house.state(own, "completed")
            return before

    before = asyncio.run(story())
    at = granted(house, ("read", "desk", None))
    shown = at.conversations.show("mine")
    theirs, own = shown["transcript"]["items"]
    assert (theirs["run_id"], theirs["text"], theirs["messages"], theirs["withheld"]) == (
        before,
        None,
        None,
        ["conversation"],
    )
    assert (own["text"], own["withheld"]) == ("mine now", [])
    parent = parent_of(at, shown)
    assert parent is not None and parent["conversation_id"] is None, "no link leads there"
    for look in (
        lambda: at.conversations.show("theirs"),
        lambda: at.turns.items(before),
        lambda: at.turns.place(before),
    ):
        assert refused(look) == "not_found"
    assert at.find("theirs")["items"] == [] == at.find("conversation-1")["items"]
    assert [hit["title"] for hit in at.find("mine")["items"]] == ["mine"]
    for kept in (lambda: at.conversations.export_jsonl("mine"), lambda: at.conversations.watch("mine", idle=True)):
        assert refused(kept) == "not_permitted", "a file and a watch hold the parent's turns as well"


def refused(look: Any) -> str:
    try:
        look()
    except Refused as told:
        return told.code
    return "ok"
