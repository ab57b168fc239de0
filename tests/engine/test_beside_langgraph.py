"""The ledger in graphs of LangGraph: what is refused, what interrupts, and what a resume is worth."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from counterfoil.engine.blocking import blocking
from counterfoil.engine.clock import SystemClock
from counterfoil.integrations.langgraph import current_identity, holding_thread, ledger_tool_node
from counterfoil.model.errors import Refused
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import create_case

CONFIG: Any = {"configurable": {"thread_id": "t-1"}}


def planned(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    made = [{"name": name, "args": args, "id": f"c-{n}"} for n, (name, args) in enumerate(calls)]
    return {"messages": [AIMessage("", tool_calls=made)]}


def graph(node: Any, saver: Any = None) -> Any:
    built = StateGraph(MessagesState)
    built.add_node("tools", node)
    built.add_edge(START, "tools")
    built.add_edge("tools", END)
    return built.compile(checkpointer=saver)


def heard(state: Any) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


ONE = planned(("create_case", {"number": "1"}))


@pytest.fixture
def opened(house_with_crm: House) -> House:
    house_with_crm.app.clock = SystemClock()
    return house_with_crm


@pytest.mark.parametrize("durability", ["async", "exit", None])
def test_what_a_crash_could_lose_is_refused(opened: House, crm: SandboxProcess, durability: Any) -> None:
    made = graph(ledger_tool_node(opened.app, [create_case(opened.app)]), InMemorySaver())
    opened.found()
    with holding_thread(opened.app, CONFIG), pytest.raises(Refused) as refused:
        made.invoke(ONE, CONFIG, durability=durability)
    assert refused.value.code == "not_durable" and crm.records() == []


def test_a_thread_that_nobody_holds_is_refused(opened: House, crm: SandboxProcess) -> None:
    made = graph(ledger_tool_node(opened.app, [create_case(opened.app)]), InMemorySaver())
    opened.found()
    other: Any = {"configurable": {"thread_id": "t-2"}}
    with holding_thread(opened.app, other), pytest.raises(Refused) as refused:
        made.invoke(ONE, CONFIG, durability="sync")
    assert refused.value.code == "thread_not_held" and crm.records() == []


def test_a_thread_goes_on_in_one_place_at_a_time(opened: House) -> None:
    opened.found()
    other = {"configurable": {"thread_id": "t-2"}}
    with holding_thread(opened.app, CONFIG), holding_thread(opened.app, other):
        with pytest.raises(Refused) as refused, holding_thread(opened.app, CONFIG):
            pass
        assert refused.value.code == "held_elsewhere"
    with holding_thread(opened.app, CONFIG):
        pass
    with pytest.raises(Refused) as nameless, holding_thread(opened.app, {}):
        pass
    assert nameless.value.code == "no_identity"


def test_both_ways_to_run_a_graph(opened: House, crm: SandboxProcess) -> None:
    saver = InMemorySaver()
    made = graph(ledger_tool_node(opened.app, [create_case(opened.app)]), saver)
    opened.found()

    async def async_run() -> Any:
        with holding_thread(opened.app, CONFIG):
            return await made.ainvoke(ONE, CONFIG, durability="sync")

    state = asyncio.run(async_run())
    reference = json.loads(str(heard(state)[0].content))["reference"]
    with holding_thread(opened.app, CONFIG):  # time travel: the same call again, from the checkpoint in front of it
        before = next(each for each in made.get_state_history(CONFIG) if each.next == ("tools",))
        again = made.invoke(None, before.config, durability="sync")
    assert json.loads(str(heard(again)[0].content))["reference"] == reference == crm.records()[0]["id"]
    assert len(crm.records()) == 1
    opened.clean()


async def _answer(house: House, *, approve: bool, number: int = 0) -> None:
    review = house.app.reviews.list(state="open")["items"][number]
    decide = house.app.reviews.approve if approve else house.app.reviews.reject
    await decide(review["review_id"], digest=review["digest"], by="ana", secret=SECRET, comment="so")


def test_a_resume_only_wakes_and_our_review_decides(opened: House, crm: SandboxProcess) -> None:
    """Two calls in one node, whose interrupts may be answered in any order and with anything."""
    made = graph(ledger_tool_node(opened.app, [create_case(opened.app, review=True)]), InMemorySaver())
    opened.found()
    two = planned(("create_case", {"number": "1"}), ("create_case", {"number": "2"}))
    with holding_thread(opened.app, CONFIG):
        state = made.invoke(two, CONFIG, durability="sync")
        waits = state["__interrupt__"][0].value["counterfoil"]
        assert waits["next_action"]["who"] == {"kind": "reviewer", "name": "manager"} and waits["uncertain"] == []
        for word in ("approved", {"approve": True}):
            state = made.invoke(Command(resume=word), CONFIG, durability="sync")
            assert state["__interrupt__"] and crm.records() == []
        asyncio.run(_answer(opened, approve=True))
        state = made.invoke(Command(resume="rejected"), CONFIG, durability="sync")
        assert state["__interrupt__"]
        asyncio.run(_answer(opened, approve=False))
        state = made.invoke(Command(resume="so"), CONFIG, durability="sync")
    said = heard(state)
    assert sorted(message.status for message in said) == ["error", "success"] and len(crm.records()) == 1
    assert any("ana rejected it: so" in str(message.content) for message in said)
    opened.clean()


def test_a_tool_of_ones_own_interrupts_too(blind_house: House, blind_crm: SandboxProcess) -> None:
    house = blind_house
    house.app.clock = SystemClock()
    operation = create_case(house.app, "none")

    @tool
    def open_case(number: str) -> str:
        """Open a case."""
        made = house.app.ledger.perform(operation, Order(number=number), identity=current_identity())
        return blocking(made).reference

    built = graph(ledger_tool_node(house.app, [], [open_case]), InMemorySaver())
    house.found()
    blind_crm.fault("drop-reply")
    with holding_thread(house.app, CONFIG):
        for given in (planned(("open_case", {"number": "1"})), Command(resume="it is done")):
            state = built.invoke(given, CONFIG, durability="sync")
            waits = state["__interrupt__"][0].value["counterfoil"]
            assert waits["uncertain"] == [waits["operation_id"]] and waits["next_action"]["code"] == "resolve"
    assert len(blind_crm.records()) == 1


def test_outside_the_node_there_is_no_identity() -> None:
    with pytest.raises(Refused) as refused:
        current_identity()
    assert refused.value.code == "no_identity"


def test_a_model_that_numbers_its_calls_anew_plans_another_call(opened: House, crm: SandboxProcess) -> None:
    made = graph(ledger_tool_node(opened.app, [create_case(opened.app)]), InMemorySaver())
    opened.found()
    with holding_thread(opened.app, CONFIG):
        for number in ("1", "2"):  # both are the first call of their message
            state = made.invoke(planned(("create_case", {"number": number})), CONFIG, durability="sync")
    assert [message.status for message in heard(state)] == ["success", "success"]
    assert len(crm.records()) == 2
    opened.clean()
