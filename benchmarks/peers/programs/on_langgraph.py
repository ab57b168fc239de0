"""The refund as a LangGraph graph with its SQLite saver: `python on_langgraph.py FOLDER REQUEST CHARGE`."""

import json
import os
import sys
from pathlib import Path
from typing import TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy


class Refund(TypedDict, total=False):
    request: str
    charge: str
    paid: int
    amount: int
    reference: str


def read_charge(state: Refund) -> Refund:
    charges = json.loads(Path(os.environ["CHARGES"]).read_text())
    return {"paid": charges[state["charge"]]}


def choose(state: Refund) -> Refund:
    return {"amount": state["paid"] // 2}


def send(state: Refund) -> Refund:
    body = {"request": state["request"], "charge": state["charge"], "amount": state["amount"]}
    reply = httpx.post(os.environ["RECEIVER"] + "/refunds", json=body, headers={"Idempotency-Key": state["request"]})
    reply.raise_for_status()
    return {"reference": reply.json()["id"]}


def main(folder: Path, request: str, charge: str) -> None:
    graph = StateGraph(Refund)
    graph.add_node("read_charge", read_charge, retry_policy=RetryPolicy())
    graph.add_node("choose", choose)
    graph.add_node("send", send, retry_policy=RetryPolicy())
    graph.add_edge(START, "read_charge")
    graph.add_edge("read_charge", "choose")
    graph.add_edge("choose", "send")
    graph.add_edge("send", END)
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        app = graph.compile(checkpointer=saver)
        thread = {"configurable": {"thread_id": request}}
        state = app.get_state(thread)
        if not state.values or state.next:
            begun = {"request": request, "charge": charge} if not state.values else None
            app.invoke(begun, thread, durability="sync")
    print(json.dumps({"state": "done"}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
