"""`ledger.holding` on PostgreSQL: the server frees a name when its holder's connection is gone, also behind a pooler.

Who held it hears of it before its next write.
"""

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from counterfoil import App, Call, Contract, Receipt, Refused, When
from counterfoil.app.opening import Founding
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.definitions import Operation
from counterfoil.integrations.langgraph import holding_thread
from counterfoil.integrations.langgraph.guarded import check_thread
from tests.servers.pgbouncer import pooled
from tests.servers.postgres import shared

NAME = "one thread"


class Case(BaseModel):
    """What the operation is given."""

    number: str


@pytest.fixture
def url() -> Iterator[str]:
    with shared().database() as url:
        yield url


def application(url: str, state: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    """As another host has it: no folder in common."""
    monkeypatch.setenv("COUNTERFOIL_STATE", str(state))
    app = App("held", db=url)
    app.open(Founding(single_person=True, marker_accepted=True, people=(NewPerson("ana", ("manager",), "unused"),)))
    return app


def test_two_hosts_do_not_hold_one_name(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pooled(shared(), mode="transaction") as pooler:
        one = application(url, tmp_path / "one", monkeypatch)
        monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "two"))
        two = App("held", db=pooler.at(url))
        for first, second in ((one, two), (two, one)):
            with first.ledger.holding(NAME), second.ledger.holding("another"):
                with pytest.raises(Refused) as refused, second.ledger.holding(NAME):
                    pass
                assert refused.value.code == "held_elsewhere"
            with second.ledger.holding(NAME):
                pass
        one.close()
        two.close()


def write_of(app: App) -> Operation[Any, Any]:
    """One that would be noticed: nobody sends it here, since no receiver is there."""
    app.receiver("crm", url="http://127.0.0.1:9", environment="test")
    contract = Contract(
        api_version="1", procedure="Ask whoever keeps the cases.", classifier=[When(status="2xx").means("applied")]
    )

    @app.operation(receiver="crm", contract=contract, owner="ana", business_key="number")
    async def create_case(call: Call, case: Case) -> Receipt:
        reply = await call.http.post("/cases", json=case.model_dump())
        return Receipt(reference=reply.json()["id"])

    return create_case


def lose_the_lock(url: str) -> None:
    """As a restart of the server, or an administrator, ends it."""
    found = shared().ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = %s",
        url.rpartition("/")[2],
    )
    assert found == [(True,)]
    while shared().ask("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"):
        pass


@pytest.mark.parametrize("pooled_by", [None, "transaction"])
def test_who_has_lost_its_name_hears_of_it_before_the_next_write(
    url: str, pooled_by: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pooled(shared(), mode="transaction") if pooled_by else nullcontext() as pooler:
        app = application(url, tmp_path / "one", monkeypatch)
        app.close()
        app.db = url if pooler is None else pooler.at(url)
        create_case = write_of(app)
        other = App("held", db=url)
        with app.ledger.holding(NAME) as held:
            held.check()
            lose_the_lock(url)
            monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "two"))
            with other.ledger.holding(NAME):  # free, as on another host
                for attempt in range(2):
                    with pytest.raises(Refused) as refused:
                        asyncio.run(app.ledger.perform(create_case, Case(number="1"), identity=f"{attempt}"))
                    assert refused.value.code == "hold_lost"
            with pytest.raises(Refused) as refused:
                held.check()
            assert refused.value.code == "hold_lost"
        assert app.runs.list()["items"] == []
        app.close()
        other.close()


def test_a_graph_whose_thread_is_lost_asks_no_model_and_calls_no_tool(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application(url, tmp_path / "one", monkeypatch)
    config: Any = {"configurable": {"thread_id": "t-1"}}
    done: list[str] = []

    def node(state: MessagesState) -> dict[str, Any]:
        done.append(check_thread())
        return {"messages": []}

    graph = StateGraph(MessagesState)
    graph.add_node("works", node)
    graph.add_edge(START, "works")
    made = graph.compile(checkpointer=InMemorySaver())
    with holding_thread(app, config):
        made.invoke({"messages": []}, config, durability="sync")
        lose_the_lock(url)
        with pytest.raises(Refused) as refused:
            made.invoke({"messages": []}, config, durability="sync")
    assert (refused.value.code, done) == ("thread_not_held", ["t-1"])
    app.close()
