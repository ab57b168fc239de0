"""Toolsets that a function makes: what they hold is seen where the function makes one without a turn."""

import inspect
from collections.abc import Iterator
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from counterfoil.agents.marked import Held, held_in


def seen_through(held: Held) -> Iterator[Held]:
    """What its function makes here and now; itself where it has none, or where that makes nothing."""
    function = _function(held)
    made = None if function is None else _made(function)
    if made is None:
        yield held
    else:
        for each in held_in(made, held):
            yield from seen_through(each)


def maker_of(held: Held) -> str:
    """In words: who makes its tools."""
    function = _function(held)
    if function is None:
        return f"the toolset {type(held.toolset).__name__}"
    where = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"
    return f"the function {where}, which makes nothing here and now"


def _function(held: Held) -> Any:
    return getattr(held.toolset, "toolset_func", None)


def _made(function: Any) -> Any:
    """Whatever goes wrong without a turn, without `deps`, is "nothing": explaining does not fail by it."""
    if inspect.iscoroutinefunction(function):
        return None
    try:
        made = function(RunContext(deps=None, model=TestModel(), usage=RunUsage()))
    except Exception:
        return None
    if inspect.iscoroutine(made):
        made.close()
        return None
    return made
