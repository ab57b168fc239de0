"""An agent of LangChain over a checkpointer in a file, under `LedgerMiddleware`."""

from pathlib import Path
from threading import Lock
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver, PersistentDict
from langgraph.types import Command

from counterfoil import App, Refused
from counterfoil.integrations.langgraph import LedgerMiddleware, holding_thread
from counterfoil.testing.bench_child import place
from tests.edges.adapters.refunds import OPERATIONS, Say, app

CONFIG: Any = {"configurable": {"thread_id": "t-1"}}
middleware = LedgerMiddleware(app, list(OPERATIONS.values()))


class Filed(InMemorySaver):
    """LangGraph's own saver, whose content is read from a file and written to it at each step."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._lock = Lock()
        self._filed = PersistentDict(filename=str(file))
        if file.exists():
            self._filed.load()
            self.storage.update(self._filed["storage"])
            self.writes.update(self._filed["writes"])
            self.blobs.update(self._filed["blobs"])

    def put(self, *given: Any, **named: Any) -> Any:
        return self._kept(super().put(*given, **named))

    def put_writes(self, *given: Any, **named: Any) -> Any:
        return self._kept(super().put_writes(*given, **named))

    def _kept(self, answer: Any) -> Any:
        with self._lock:  # LangGraph writes from several threads
            self._write()
        return answer

    def _write(self) -> None:
        storage = {thread: {name: dict(held) for name, held in each.items()} for thread, each in self.storage.items()}
        self._filed.update(storage=storage, writes=dict(self.writes), blobs=dict(self.blobs))
        self._filed.sync()


class Planning(BaseChatModel):
    """A model that plans one refund, and then says that it heard."""

    planned: dict[str, Any]

    @property
    def _llm_type(self) -> str:
        return "planning"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        heard = isinstance(messages[-1], ToolMessage)
        said = AIMessage("told") if heard else AIMessage("", tool_calls=[{**self.planned, "id": "call-1"}])
        return ChatResult(generations=[ChatGeneration(message=said)])


def play(app: App, arguments: dict[str, Any], say: Say) -> None:
    place(app, arguments, say)
    try:
        with holding_thread(app, CONFIG):
            say(_played(arguments))
    except Refused as refused:
        say({"refused": refused.code})
    app.close()


def _played(arguments: dict[str, Any]) -> dict[str, Any]:
    planned = {"name": arguments["operation"], "args": {name: arguments[name] for name in ("number", "amount")}}
    saver = Filed(Path(arguments["folder"]) / "checkpoints")
    agent: Any = create_agent(Planning(planned=planned), middleware=[middleware], checkpointer=saver)
    state = _invoked(agent, arguments["how"], planned)
    if state.get("__interrupt__"):
        return {"waits": state["__interrupt__"][0].value["counterfoil"]["sentence"]}
    (heard,) = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    return {"refused": heard.content} if heard.status == "error" else {"receipt": _json(heard.content)}


def _invoked(agent: Any, how: str, planned: dict[str, Any]) -> Any:
    at: Any = CONFIG
    given: Any = None  # from where it stands
    if how == "begin":
        given = {"messages": [("user", "Give the money back.")]}
    elif how == "changed":  # somebody edits the message that planned the call: the same ids, other arguments
        (said,) = [m for m in agent.get_state(CONFIG).values["messages"] if isinstance(m, AIMessage)]
        edited = said.model_copy(update={"tool_calls": [{**planned, "id": "call-1", "type": "tool_call"}]})
        at = agent.update_state(CONFIG, {"messages": [edited]}, as_node="model")
    elif how == "resume" and agent.get_state(CONFIG).interrupts:
        given = Command(resume="approved")
    elif how == "resume":  # it was changed, and went on: back to where it was left
        at = [state for state in agent.get_state_history(CONFIG) if state.interrupts][-1].config
    return agent.invoke(given, at, durability="sync")


def _json(text: Any) -> Any:
    import json

    return json.loads(text)
