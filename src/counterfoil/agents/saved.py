"""What the model was asked for each answer of a turn: the messages, put together again from what was added to them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from counterfoil.agents.messages import Thread
from counterfoil.model.errors import Refused

Whole = Callable[[Any], Any]
"""A value as it was before it was kept as an artifact. Raises Refused: artifact_missing, artifact_damaged."""


def asked_in(
    turn: Sequence[tuple[Mapping[str, Any], Any]], whole: Whole, history: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any] | Refused]:
    """`{messages, params}` for each (question, output) of a turn, in order; or why it cannot be given any more.

    `history`: the messages of the turns before. The digest that stands in the question is held against what was put
    together, so nothing is given out that the model was not asked.
    """
    thread = Thread()
    thread.add(history)
    found: list[dict[str, Any] | Refused] = []
    for question, output in turn:
        try:
            added = whole(question["add"])
            if len(thread.plain) < question["keep"]:
                raise Refused("messages_missing", kept=question["keep"], found=len(thread.plain))
            thread.keep(question["keep"])
            thread.add(added)
            if thread.head != question["head"]:
                raise Refused("messages_missing", kept=question["keep"], found=question["keep"])
            found.append({"messages": list(thread.plain), "params": whole(question["params"])})
            thread.add([whole(output)])
        except Refused as refused:
            found.append(refused)
    return found
