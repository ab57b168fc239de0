"""Sizes, as a ratchet. What is larger today stands in EXCEPTIONS with its size, and may only shrink."""

import ast
from collections.abc import Iterator

from tests.architecture.source import Source, everything, report

FILE_LINES = 400
FUNCTION_LINES = 60
CLASS_METHODS = 15

# name -> size. Never add one, never raise one.
EXCEPTIONS: dict[str, int] = {}


def sizes(source: Source) -> Iterator[tuple[str, int, int]]:
    """(name, size, limit) of the file and of every class and function in it."""
    yield source.name, source.text.count("\n"), FILE_LINES
    for node in source.nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield f"{source.name}::{node.name}", node.end_lineno - node.lineno + 1, FUNCTION_LINES
        elif isinstance(node, ast.ClassDef):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
            public = [name for name in methods if not name.startswith("_")]
            yield f"{source.name}::{node.name}", len(public), CLASS_METHODS


def test_nothing_grows_over_its_limit() -> None:
    found = [
        f"{name} has {size}, the limit is {EXCEPTIONS.get(name, limit)}"
        for source in everything()
        for name, size, limit in sizes(source)
        if size > EXCEPTIONS.get(name, limit)
    ]
    assert not found, report(
        f"Too large: {FILE_LINES} lines a file, {FUNCTION_LINES} a function, {CLASS_METHODS} public methods a class.",
        found,
    )


def test_an_exception_shrinks_with_its_code() -> None:
    measured = {name: (size, limit) for source in everything() for name, size, limit in sizes(source)}
    loose = [
        f"{name}: {allowed} allowed, {measured.get(name)} measured"
        for name, allowed in EXCEPTIONS.items()
        if name not in measured or measured[name][0] < allowed or allowed <= measured[name][1]
    ]
    assert not loose, report("Lower these exceptions, or remove them.", loose)
