"""The names that users import. Adding one is a decision; taking one away breaks somebody."""

import ast
import inspect
import json
import subprocess
import sys
from types import FunctionType

import pytest

import counterfoil
from tests.architecture.source import PACKAGE, report

FROZEN = [
    "App",
    "Artifact",
    "Artifacts",
    "Ask",
    "Bearer",
    "Breaker",
    "Budget",
    "Call",
    "Client",
    "Contract",
    "CounterfoilError",
    "Document",
    "DocumentMoved",
    "DocumentVersion",
    "Env",
    "Found",
    "IdempotencyKey",
    "Keyring",
    "Ledger",
    "Lookup",
    "Money",
    "Operation",
    "OperationFailed",
    "Owner",
    "Partition",
    "Proposal",
    "Rate",
    "Receipt",
    "Refused",
    "Retry",
    "ReviewBy",
    "ReviewExpired",
    "ReviewRejected",
    "Rule",
    "Run",
    "RunFailed",
    "SecretFile",
    "Seen",
    "SharedBudget",
    "SignedBy",
    "StepFailed",
    "Submitted",
    "Target",
    "TimedOut",
    "Unresolved",
    "When",
    "Workflow",
    "blocking",
    "step",
]

FACADE = PACKAGE / "__init__.py"


def homes() -> dict[str, str]:
    """name -> module, as the facade's imports for type checkers say."""
    tree = ast.parse(FACADE.read_text())
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("counterfoil.")
        for alias in node.names
    }


def test_names_are_frozen() -> None:
    assert counterfoil.__all__ == FROZEN


def test_type_checkers_and_programs_find_the_same() -> None:
    lazy = {name: f"counterfoil.{home}" for home, names in counterfoil._HOMES.items() for name in names}
    assert lazy == homes()
    assert sorted(lazy) == sorted(FROZEN)


@pytest.mark.parametrize("name", FROZEN)
def test_name_is_there(name: str) -> None:
    assert getattr(counterfoil, name).__name__ == name


def told(documented: object, name: str) -> bool:
    """A dataclass without a docstring gets its signature for one, which tells nobody anything."""
    text = getattr(documented, "__doc__", None)
    return bool(text) and not text.startswith(f"{name}(")


@pytest.mark.parametrize("name", FROZEN)
def test_name_and_its_methods_are_documented(name: str) -> None:
    value = getattr(counterfoil, name)
    methods = vars(value) if inspect.isclass(value) else {}
    silent = [name] if not told(value, name) else []
    for method, defined in methods.items():
        if isinstance(defined, FunctionType | property | classmethod | staticmethod) and not method.startswith("_"):
            silent += [] if told(defined, method) else [f"{name}.{method}"]
    assert not silent, report("Say shapes, units and errors raised.", silent)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = counterfoil.Nothing  # pyright: ignore[reportAttributeAccessIssue]


def modules_after(statement: str) -> set[str]:
    program = f"import sys, json\n{statement}\nprint(json.dumps(list(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    return set(json.loads(answer.stdout))


def test_importing_the_package_costs_nothing() -> None:
    brought = modules_after("import counterfoil") - modules_after("import typing")
    assert brought == {"counterfoil"}


def test_model_and_rules_bring_nothing_heavy() -> None:
    brought = modules_after("import counterfoil.model.errors")
    heavy = {"apsw", "asyncio", "httpx2", "pydantic_ai", "rich", "ssl", "typer"}
    assert not brought & heavy
