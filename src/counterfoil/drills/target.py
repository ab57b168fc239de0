"""The target of a drill: an application, the workflows that are drilled, and their scenarios."""

import hashlib
import importlib
import importlib.util
import json
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from counterfoil.app.application import App
from counterfoil.drills.derived import completed, derived, undeclared
from counterfoil.drills.scenario import Scenario
from counterfoil.engine.definitions import Workflow
from counterfoil.model.errors import Refused
from counterfoil.testing.bench import modules_of, target_of

BUILT_IN = "ledger"
BESIDE = "drills"  # the module beside the workflow's that may hold its scenarios


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`text`: as it was typed; `typed`: the words that name it in a command. `place`: MODULE:NAME of the application, as a
    child imports it. `left_out`: workflows without a scenario in a project that declares some."""

    text: str
    typed: tuple[str, ...]
    app: App
    place: str
    modules: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    left_out: tuple[str, ...] = ()

    @staticmethod
    def of(app: App, name: str | None, *, text: str, typed: tuple[str, ...] | None = None, seed: int = 0) -> "Target":
        """`name`: a workflow; None or the application's own name for all. Raises Refused: drill_undeclared, unknown_workflow."""
        known = sorted({each for each, _ in app.registry.workflows if each != BUILT_IN})
        alone = name is not None and name != app.name
        if not known or (alone and name not in known):
            raise Refused("unknown_workflow", name=name or text, known=", ".join(known) or "none")
        workflows = [app.registry.newest(each) for each in known if not alone or each == name]
        declared = list(_declared(workflows, target_of(app).partition(":")[0]))
        scenarios = declared or [derived(workflow, seed) for workflow in workflows]
        _told_apart(scenarios)
        played = {scenario.workflow for scenario in scenarios}
        return Target(
            text=text,
            typed=typed or (text,),
            app=app,
            place=target_of(app),
            modules=tuple(modules_of(app)),
            scenarios=tuple(completed(app, scenario) for scenario in scenarios),
            left_out=tuple(workflow.name for workflow in workflows if workflow.name not in played),
        )

    @property
    def versions(self) -> dict[str, Any]:
        """What was drilled, with what: {counterfoil, python, apsw, workflows: {name: version}, contracts: {operation: digest}}."""
        played = sorted({scenario.workflow for scenario in self.scenarios})
        return {
            "counterfoil": _version("counterfoil"),
            "python": platform.python_version(),
            "apsw": _version("apsw"),
            "workflows": {name: self.app.registry.newest(name).version for name in played},
            "contracts": {name: o.contract.digest() for name, o in sorted(self.app.registry.operations.items())},
        }

    @property
    def digest(self) -> str:
        """Of the declared versions, the contracts, and the source files that register workflows and operations."""
        sources = {
            module: _source_digest(module) for module in self.modules if module.partition(".")[0] != "counterfoil"
        }
        parts = {name: self.versions[name] for name in ("workflows", "contracts")} | {"sources": sources}
        return f"sha256:{hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()}"


def _declared(workflows: Sequence[Workflow[Any, Any]], home: str) -> Iterator[Scenario]:
    wanted = {workflow.name for workflow in workflows}
    seen: set[int] = set()
    for module in _modules(workflows, home):
        for value in list(vars(module).values()):
            for scenario in _scenarios_in(value):
                if scenario.workflow in wanted and id(scenario) not in seen:
                    seen.add(id(scenario))
                    yield scenario


def _scenarios_in(value: object) -> Iterable[Scenario]:
    if isinstance(value, Scenario):
        return (value,)
    if isinstance(value, list | tuple):
        return [each for each in cast("Sequence[object]", value) if isinstance(each, Scenario)]
    return ()


def _modules(workflows: Sequence[Workflow[Any, Any]], home: str) -> Iterator[ModuleType]:
    """The module of each workflow, that of the application (`home`: an agent's turn is written by us), and `drills` beside each."""
    for name in dict.fromkeys([*(workflow.function.__module__ for workflow in workflows), home]):
        module = sys.modules[name]
        yield module
        package, _, own = name.rpartition(".")
        beside = f"{package}.{BESIDE}" if package else BESIDE
        if own != BESIDE and _stands_beside(module, beside):
            yield _imported(beside)


def _stands_beside(module: ModuleType, name: str) -> bool:
    """Whether a module of that name lies in the same folder: another package may be called so as well."""
    if module.__file__ is None:
        return False
    folder = Path(module.__file__).parent
    return (folder / f"{BESIDE}.py").is_file() and importlib.util.find_spec(name) is not None


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as problem:
        raise Refused("app_not_found", target=name, problem=f"{type(problem).__name__}: {problem}") from problem


def _told_apart(scenarios: Sequence[Scenario]) -> None:
    """Several scenarios of one workflow have names, each its own."""
    for workflow in {scenario.workflow for scenario in scenarios}:
        names = [scenario.name for scenario in scenarios if scenario.workflow == workflow]
        if len(names) > 1 and (None in names or len(set(names)) < len(names)):
            raise undeclared(workflow, "it has several scenarios that have no names of their own", "name")


def _source_digest(module: str) -> str | None:
    file = sys.modules[module].__file__
    return None if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
