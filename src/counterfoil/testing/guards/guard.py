"""A guard: one protection, what it holds up, and what stands in its place when it is taken away."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True, slots=True)
class Replacement:
    """What is put in the place of a function, or of a method (`name` is `Class.method`). `instead` is given the original."""

    module: str
    name: str
    instead: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Guard:
    """`invariant` is a sentence with the rule of the design that it serves. The first replacement is the protection itself."""

    guard: str
    invariant: str
    replacements: tuple[Replacement, ...]

    @property
    def where(self) -> str:
        """`MODULE:FUNCTION` of the protection."""
        return f"{self.replacements[0].module}:{self.replacements[0].name}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a function was, and what stands there now."""

    owner: Any
    name: str
    original: Any
    instead: Any


def take_away(guard: Guard) -> Callable[[], None]:
    """Go on without this guard, in every module of this process, also in those loaded later. Gives what brings it back."""
    places = [_replaced(each) for each in guard.replacements]

    def bring_back() -> None:
        for place in reversed(places):
            _put(place.owner, place.name, place.instead, place.original)

    return bring_back


def _replaced(replacement: Replacement) -> _Place:
    module = importlib.import_module(replacement.module)
    of_class, _, name = replacement.name.rpartition(".")
    owner: Any = getattr(module, of_class) if of_class else module
    original: Any = getattr(owner, name)
    instead = _once(replacement.instead(original))
    _put(owner, name, original, instead)
    return _Place(owner, name, original, instead)


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that stands nowhere else, so that bringing the original back touches only what was replaced."""
    return lambda *given, **named: function(*given, **named)


def _put(owner: Any, name: str, old: Any, new: Any) -> None:
    setattr(owner, name, new)
    if not isinstance(owner, ModuleType):
        return
    # Whoever imported the function by name holds it under a name of its own. Later imports find the new one.
    for module in [loaded for of, loaded in list(sys.modules.items()) if of.partition(".")[0] == "counterfoil"]:
        for known, value in list(vars(module).items()):
            if value is old:
                setattr(module, known, new)
