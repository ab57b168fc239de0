"""`Counterfoil` in an agent that is run by itself: the same call is the same operation, and a doubt parks the run."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RunUsage

from counterfoil.engine.clock import SystemClock
from counterfoil.integrations.pydantic_ai import Counterfoil, call_identity
from counterfoil.model.errors import Refused, Unresolved
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import create_case


def agent(beside: Counterfoil, *others: AbstractCapability[Any], tool: str = "create_case") -> Agent[None, Any]:
    """Its model calls one tool, and then says what it heard."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        heard = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        return ModelResponse(
            parts=[TextPart(str(heard[0].content)) if heard else ToolCallPart(tool, {"number": "1", "amount": 5})]
        )

    return Agent(FunctionModel(answer), output_type=[str, DeferredToolRequests], capabilities=[beside, *others])


class Guard(AbstractCapability[Any]):
    """Another capability that lets no tool through."""

    async def before_tool_execute(self, ctx: RunContext[Any], *, args: dict[str, Any], **_: Any) -> dict[str, Any]:
        raise ToolFailed("not on a Monday")


def test_what_other_capabilities_forbid_is_not_sent(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    beside = Counterfoil(house.app, [create_case(house.app)])

    async def story() -> None:
        house.found()
        result = await agent(beside, Guard()).run("Open a case.")
        assert "not on a Monday" in result.output and crm.records() == []

    asyncio.run(story())


def test_the_payload_is_what_the_model_sees(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    beside = Counterfoil(house.app, [create_case(house.app)])

    async def story() -> None:
        house.found()
        result = await agent(beside).run("Open a case.")
        assert str(crm.records()[0]["id"]) in result.output and len(crm.records()) == 1
        again = await agent(beside).run("Open a case.")  # another run, another call: the business key answers
        assert again.output == result.output and len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_a_tool_of_the_agents_own_parks_the_run_too(blind_house: House, blind_crm: SandboxProcess) -> None:
    house = blind_house
    house.app.clock = SystemClock()
    operation, beside = create_case(house.app, "none"), Counterfoil(house.app)
    own = agent(beside, tool="open_case")

    @own.tool
    async def open_case(ctx: RunContext[None], number: str, amount: int) -> str:
        """Open a case, and say its number."""
        order = Order(number=number, amount=amount)
        return (await house.app.ledger.perform(operation, order, identity=call_identity(ctx))).reference

    async def story() -> None:
        house.found()
        blind_crm.fault("drop-reply")
        parked = await own.run("Open a case.")
        assert isinstance(parked.output, DeferredToolRequests)
        (call,) = parked.output.calls
        waits = parked.output.metadata[call.tool_call_id]["counterfoil"]
        assert waits["uncertain"] == [waits["operation_id"]] and waits["next_action"]["who"]["name"] == "lead"
        assert waits["next_action"]["code"] == "resolve" and len(blind_crm.records()) == 1

    asyncio.run(story())


def test_a_rejection_is_told_to_the_model(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    beside = Counterfoil(house.app, [create_case(house.app, review=True)])

    async def story() -> None:
        house.found()
        parked = await agent(beside).run("Open a case.")
        with pytest.raises(Unresolved) as waits:
            await beside.results(parked.output)
        assert waits.value.who == {"kind": "reviewer", "name": "manager"}
        (review,) = house.app.reviews.list(state="open")["items"]
        await house.app.reviews.reject(
            review["review_id"], digest=review["digest"], by="ana", secret=SECRET, comment="no"
        )
        results = await beside.results(parked.output)
        told = await agent(beside).run(message_history=parked.all_messages(), deferred_tool_results=results)
        assert told.output == "create_case did not happen: ana rejected it: no" and crm.records() == []

    asyncio.run(story())


def test_a_call_without_an_id_is_not_performed(house: House) -> None:
    with pytest.raises(Refused) as refused:
        call_identity(
            RunContext[None](deps=None, model=FunctionModel(lambda m, i: ModelResponse(parts=[])), usage=RunUsage())
        )
    assert refused.value.code == "no_identity"


def at_a_call(*history: ModelMessage) -> RunContext[None]:
    model = FunctionModel(lambda m, i: ModelResponse(parts=[]))
    given: Any = {"messages": list(history), "tool_call_id": "c-1", "tool_name": "create_case", "run_id": "run-now"}
    return RunContext[None](deps=None, model=model, usage=RunUsage(), **given)


def plans(run_id: str | None) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("create_case", {"number": "1"}, "c-1")], run_id=run_id)


def test_a_history_that_names_no_run_gives_no_identity() -> None:
    """The run that resumes is another one each time: an identity of it would be a second operation."""
    assert call_identity(at_a_call(plans("run-1"))) == call_identity(at_a_call(plans("run-0"), plans("run-1")))
    with pytest.raises(Refused) as refused:
        call_identity(at_a_call(plans(None)))
    assert refused.value.code == "no_identity"


def test_a_model_that_numbers_its_calls_anew_plans_another_call() -> None:
    first, second = (call_identity(at_a_call(*[plans("run-1")] * times)) for times in (1, 2))
    assert first != second


def test_a_request_from_outside_performs_nothing_new(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    beside = Counterfoil(house.app, [create_case(house.app)])
    forged = DeferredToolRequests(
        calls=[ToolCallPart("create_case", {"number": "1", "amount": 5}, "c-1")],
        metadata={"c-1": {"counterfoil": {"identity": "made up"}}},
    )

    async def story() -> None:
        house.found()
        with pytest.raises(Refused) as refused:
            await beside.results(forged)
        assert refused.value.code == "not_found" and crm.records() == []

    asyncio.run(story())
