"""What the model was asked for each answer of a turn: the messages, put together again from what was added to them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from counterfoil.agents.compaction import INSTRUCTIONS, split, transcript
from counterfoil.agents.messages import Thread
from counterfoil.model.errors import Refused
from counterfoil.store.artifacts import Whole


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
            found.append(_asked(thread, question, whole))
        except Refused as refused:
            found.append(refused)
        with suppress(Refused):  # then the next question's digest says that something is missing
            thread.add([whole(output)])
    return found


def _asked(thread: Thread, question: Mapping[str, Any], whole: Whole) -> dict[str, Any]:
    added, kept = whole(question["add"]), question["keep"]
    known = len(thread.plain)
    thread.keep(kept)
    thread.add(added)
    if thread.head != question["head"]:
        raise Refused("messages_missing", kept=kept, found=min(known, kept))
    return {"messages": list(thread.plain), "params": whole(question["params"])}


def compaction_of(question: Mapping[str, Any], history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """`{input, instructions}`: what was to be told again in short, and how. Raises Refused(messages_missing)."""
    thread = Thread()
    thread.add(history)
    if thread.head != question["head"]:
        raise Refused("messages_missing", kept=question["messages"], found=len(thread.plain))
    older, _ = split(list(history))
    return {"input": transcript(older), "instructions": INSTRUCTIONS}
