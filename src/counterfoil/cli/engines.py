"""Which engine a command is about: `--engine`, else COUNTERFOIL_ENGINE."""

import importlib
from typing import Any

from counterfoil.model.errors import CounterfoilError, Refused

NAMES = ("embedded", "temporal")
ENGINES = "embedded, or temporal; by default COUNTERFOIL_ENGINE."
INSTALL = "pip install 'counterfoil[temporal]'"


def engine_named(given: str | None) -> str:
    """Raises Refused(usage)."""
    from counterfoil import settings

    name = given or settings.value_of("COUNTERFOIL_ENGINE")
    if name not in NAMES:
        raise Refused("usage", problem=f"--engine {name!r} is none of {', '.join(NAMES)}")
    return name


def temporal(module: str) -> Any:
    """A module of the integration. Raises CounterfoilError(tool_missing) where the SDK is not installed."""
    try:
        return importlib.import_module(f"counterfoil.integrations.temporal.{module}")
    except ModuleNotFoundError as problem:
        tool = f"the Python package {problem.name}"
        raise CounterfoilError("tool_missing", tool=tool, install=f"Install it: {INSTALL}") from problem
