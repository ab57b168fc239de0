"""What must hold of a graph's run before one of its calls is performed: it is kept step by step, and by one process alone."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from langgraph.config import get_config

from counterfoil.integrations.outcome import identity_of
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app.application import App

_held: ContextVar[str | None] = ContextVar("held_thread", default=None)

# LangGraph hands `durability=` to each node under this name, and has no public one that a node could read. Were it renamed,
# every call would be refused. Without a checkpointer, LangGraph itself does not come as far as a node with "sync".
_DURABILITY = "__pregel_durability"


@contextmanager
def holding_thread(app: "App", config: Mapping[str, Any]) -> Generator[None]:
    """Invoke the graph inside: nobody else goes on with the thread of this config meanwhile, here or in another process.

    Raises Refused: held_elsewhere, at once; no_identity for a config without a thread_id.
    """
    thread = config.get("configurable", {}).get("thread_id")
    with app.ledger.holding(identity_of("langgraph", thread)):
        token = _held.set(thread)
        try:
            yield
        finally:
            _held.reset(token)


def check_thread() -> str:
    """The thread of the graph that runs here. Raises Refused: not_durable, thread_not_held."""
    configurable = get_config().get("configurable", {})
    durability, thread = configurable.get(_DURABILITY), configurable.get("thread_id")
    if durability != "sync":
        raise Refused("not_durable", found=repr(durability))
    if thread is None or _held.get() != thread:
        raise Refused("thread_not_held", thread=thread)
    return thread
