"""What a person names for code: a name in the application, MODULE:NAME, or a folder with a counterfoil.toml."""

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterfoil.cli.invocation import Invocation, configured
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app import App
    from counterfoil.engine.definitions import Workflow

BUILT_IN = "ledger"  # performs what `app.ledger` is told; nobody submits it by hand


def target_of(invocation: Invocation, text: str | None) -> "tuple[App, str | None]":
    """The application, and the name in it; None for all of it. Raises Refused(app_not_found, usage)."""
    if text is None:
        return invocation.with_code(), None
    folder = Path(text)
    if os.sep in text or text in (".", ".."):
        if not folder.is_dir():
            raise Refused("usage", problem=f"{text} is not a folder")
        named = configured(folder)
        if named is None:
            raise Refused("app_not_found", target=text, problem="its counterfoil.toml names no application")
        return invocation.use(loaded_from(folder.absolute(), named)), None
    if ":" in text:
        return _in_module(invocation, text)
    return invocation.with_code(), text


def workflow_of(invocation: Invocation, text: str) -> "tuple[App, Workflow[Any, Any]]":
    """The newest version of a workflow. Raises Refused(unknown_workflow, app_not_found)."""
    app, name = target_of(invocation, text)
    known = sorted({each for each, _ in app.registry.workflows if each != BUILT_IN})
    if name is None or name not in known:
        raise Refused("unknown_workflow", name=name or text, known=", ".join(known) or "none")
    return app, app.registry.newest(name)


def loaded_from(folder: Path, target: str | None) -> "App":
    """An application whose module is looked for in a folder first, then where modules are."""
    from counterfoil.app import load_app

    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()  # the file may be newer than the last look into the folder
    try:
        return load_app(target)
    except SystemExit as problem:
        raise Refused(
            "app_not_found", target=target or "", problem="it ends the process when it is imported"
        ) from problem


def _in_module(invocation: Invocation, text: str) -> "tuple[App, str]":
    """MODULE:NAME, where NAME is a workflow or an operation of an application in that module."""
    from counterfoil.app import App
    from counterfoil.engine.definitions import Operation, Workflow

    module, _, name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        loaded = importlib.import_module(module)
    except (Exception, SystemExit) as problem:
        raise Refused("app_not_found", target=text, problem=f"{type(problem).__name__}: {problem}") from problem
    named: Any = getattr(loaded, name, None)
    if isinstance(named, App):
        return invocation.use(named), named.name
    found: Any = getattr(named, "workflow", named)  # a durable agent is named by what its turns run
    if not isinstance(found, Workflow | Operation):
        raise Refused("app_not_found", target=text, problem=f"{module} has no workflow or operation {name!r}")
    defined: Any = found  # pyright: ignore[reportUnknownVariableType] - of whatever types
    for each in vars(loaded).values():
        if isinstance(each, App) and defined in (*each.registry.workflows.values(), *each.registry.operations.values()):
            return invocation.use(each), str(defined.name)
    raise Refused("app_not_found", target=text, problem=f"no application in {module} registered {name}")
