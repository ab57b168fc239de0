"""Functions, agents and types by name: an activity may run in another process than the workflow that asks for it."""

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from counterfoil.model.errors import Refused


def reference_to(wanted: Any, near: Mapping[str, Any], *, what: str) -> str:
    """`MODULE:NAME` of a function, class or object of a module. `near` are the globals of the workflow's module, which may
    hold it under a name. Raises Refused(temporal_unreachable) for what only this process has.
    """
    module, name = getattr(wanted, "__module__", None), getattr(wanted, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and _found(sys.modules.get(module), name) is wanted:
        return f"{module}:{name}"
    home = str(near.get("__name__", ""))
    for known, value in near.items():
        if value is wanted:
            return f"{home}:{known}"
    for home, each in list(sys.modules.items()):
        for known, value in list(vars(each).items()) if each is not None else ():  # pyright: ignore[reportUnnecessaryComparison]
            if value is wanted:
                return f"{home}:{known}"
    raise Refused("temporal_unreachable", what=what)


def referred(reference: str) -> Any:
    """What a reference names. Raises Refused(temporal_unreachable) where this process cannot find it."""
    module, _, name = reference.partition(":")
    try:
        found = _found(importlib.import_module(module), name)
    except ImportError:
        found = None
    if found is None:
        raise Refused("temporal_unreachable", what=reference)
    return found


def _found(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module
