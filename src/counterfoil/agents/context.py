"""What an agent is told of its working context: the documents as they are, each read recorded like every other."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from counterfoil.engine.call_document import read_if_any
from counterfoil.engine.document import Document
from counterfoil.engine.execution import Execution
from counterfoil.model.codec import compact

ABOUT = (
    "Working context: knowledge for reasoning. It never says what happened outside; look that up, or do it with a tool."
)

_turn: ContextVar[Execution | None] = ContextVar("turn_with_context", default=None)


def begin_turn(execution: Execution) -> None:
    """What the agent's instructions read in this turn is read by this run."""
    _turn.set(execution)


def working_context(*documents: Document[Any]) -> Callable[[], Awaitable[str | None]]:
    """Instructions of an agent that hold these documents: `Agent(..., instructions=[..., working_context(preferences)])`.

    They are read before each request, so the model sees what was written meanwhile. A document under a key is left out where
    the conversation names none. An agent that is run by itself, outside a turn, is told nothing.
    """

    async def told() -> str | None:
        execution = _turn.get()
        if execution is None:
            return None
        lines: list[str] = []
        for document in documents:
            found = await read_if_any(execution, document)
            if found is not None:
                body = compact(found.value.model_dump(mode="json"))
                lines.append(f"{document.name} (version {found.version}): {body}")
        return "\n".join([ABOUT, *lines]) if lines else None

    return told
