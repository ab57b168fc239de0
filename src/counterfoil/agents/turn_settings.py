"""The settings of its conversation as a turn began with them. A change meanwhile is for the next turn: a replay reads the same."""

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from counterfoil.engine.call_tool import is_known, is_next, marked
from counterfoil.engine.execution import Execution

SETTINGS = "settings"
_NONE: Mapping[str, Any] = MappingProxyType({})
_settings: ContextVar[Mapping[str, Any]] = ContextVar("settings_of_a_turn", default=_NONE)


def conversation_settings() -> Mapping[str, Any]:
    """The settings of the conversation whose turn this is, by name, as JSON: in a tool, in instructions, in `deps`.

    As they were when the turn began, also at a replay. Empty outside a turn, and in the turn of an agent that another one asks.
    """
    return _settings.get()


async def settings_of_turn(execution: Execution, now: dict[str, Any]) -> dict[str, Any]:
    """The settings that the turn goes by: recorded first of all where there are any. `now`: as they stand."""
    found: dict[str, Any] = {}
    if is_next(execution, SETTINGS) or (now and not is_known(execution)):
        found = (await marked(execution, SETTINGS, {"settings": now})).value["out"]["settings"]
    _settings.set(MappingProxyType(found))
    return found
