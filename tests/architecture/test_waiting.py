"""A test waits on a signal, a pipe or a readiness line. One that sleeps is slow, or wrong on a slow machine."""

import ast

from tests.architecture.source import everything, report


def is_sleep(node: ast.AST) -> bool:
    match node:
        case ast.Call(args=[ast.Constant(value=0)], func=ast.Attribute(attr="sleep")):
            return False  # asyncio.sleep(0) gives way to others and waits for nothing
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time" | "asyncio"), attr="sleep")):
            return True
        case ast.ImportFrom(module="time" | "asyncio", names=names):
            return any(alias.name == "sleep" for alias in names)
        case _:
            return False


def test_no_test_sleeps() -> None:
    tests = [source for source in everything() if source.name.startswith("tests/")]
    found = [source.at(node) for source in tests for node in source.nodes() if is_sleep(node)]
    assert not found, report("Wait on a fact instead.", found)
