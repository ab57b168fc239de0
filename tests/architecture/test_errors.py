"""Every error has one code that never changes, says what to do, and survives another process."""

import ast
import importlib
import inspect
import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from counterfoil.model.error_codes import CODES
from counterfoil.model.errors import CounterfoilError
from tests.architecture.source import PACKAGE, report, shipped


def _error_classes() -> dict[str, str]:
    """name -> module of every subclass of CounterfoilError in the source, imported or not."""
    classes = [
        (node.name, {base.id for base in node.bases if isinstance(base, ast.Name)}, source.path)
        for source in shipped()
        for node in source.nodes()
        if isinstance(node, ast.ClassDef)
    ]
    known: dict[str, str] = {}
    wanted = {"CounterfoilError"}
    while True:
        more = {name: path for name, bases, path in classes if name not in known and (name in wanted or bases & wanted)}
        if not more:
            return known
        for name, path in more.items():
            known[name] = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        wanted |= set(more)


ERRORS = _error_classes()


def instance(kind: type[CounterfoilError]) -> CounterfoilError:
    """One error of this kind, its arguments made up from their annotations."""
    values: dict[str, Any] = {}
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            values["problem"] = "made up"
        elif parameter.name == "code":
            values["code"] = next(iter(CODES))
        elif parameter.annotation in {int, "int"}:
            values[parameter.name] = 7
        elif parameter.annotation in {bool, "bool"}:
            values[parameter.name] = True
        elif str(parameter.annotation).startswith("collections.abc.Mapping"):
            values[parameter.name] = {"who": {"kind": "none", "name": None}}
        else:
            values[parameter.name] = f"a {parameter.name}"
    return kind(**values)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_error_survives_pickling(name: str) -> None:
    error = instance(getattr(importlib.import_module(ERRORS[name]), name))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.args, vars(again), str(again)) == (error.args, vars(error), str(error))


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_error_says_what_it_is_and_what_to_do(name: str) -> None:
    kind = getattr(importlib.import_module(ERRORS[name]), name)
    error = instance(kind)
    assert kind.__doc__ and kind.__doc__ != Exception.__doc__
    assert error.code
    assert error.message
    assert error.safe_next


def codes_said(*callers: str) -> Iterator[tuple[str, str]]:
    """(place, code) of every call of one of these names with a literal first argument."""
    for source in shipped():
        for node in source.nodes():
            match node:
                case ast.Call(func=ast.Name(id=caller), args=[ast.Constant(value=str(code)), *_]) if caller in callers:
                    yield source.at(node), code
                case _:
                    pass


def test_codes_are_unique() -> None:
    declared = Counter(code for _, code in codes_said("ErrorCode"))
    assert {code: n for code, n in declared.items() if n > 1} == {}
    assert set(declared) == set(CODES), "a code that CODES does not have, or has under another name"


def test_codes_have_the_same_form() -> None:
    assert [code for code in CODES if not code.replace("_", "a").isalnum() or code != code.lower()] == []
    assert [
        code for code, entry in CODES.items() if entry.code != code or not entry.message or not entry.safe_next
    ] == []


def test_no_error_is_raised_with_a_code_that_is_not_declared() -> None:
    found = [f"{place}: {code}" for place, code in codes_said("CounterfoilError", "Refused") if code not in CODES]
    assert not found, report("Declare it in model/error_codes.py.", found)


def test_every_declared_code_is_used() -> None:
    # A code may travel through a variable or a table, so any literal outside the declarations counts.
    used = {
        node.value
        for source in shipped()
        if source.path.name != "error_codes.py"
        for node in source.nodes()
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    unused = sorted(set(CODES) - used)
    assert not unused, report("Nothing raises these; a page that lists them would promise what cannot happen.", unused)
