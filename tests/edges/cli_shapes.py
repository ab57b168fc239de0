"""Reads the notation of the reference page, and holds an answer against it."""

import re
from collections.abc import Iterator
from typing import Any

from counterfoil.cli.shapes import SHAPES

TOKEN = re.compile(r"\s*([{}\[\],:|]|[A-Za-z_][A-Za-z0-9_ ]*)")
MAPS = {"name", "area", "status", "reason"}  # `{area:{...}}`: one field of these names stands for any name


def missing(shape: str, value: Any) -> list[str]:
    """The paths that the shape promises and the value does not have, and lists or objects that are something else."""
    return list(_missing(_parsed(shape), value, "data"))


def _parsed(text: str) -> Any:
    return _Reader(TOKEN.findall(text)).value()


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = [token.strip() for token in tokens]

    def take(self, *wanted: str) -> str:
        token = self.tokens.pop(0)
        assert not wanted or token in wanted, (token, wanted, self.tokens)
        return token

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def value(self) -> Any:
        match self.peek():
            case "{":
                return self.fields()
            case "[":
                self.take("[")
                inner = self.value() if self.peek() != "]" else None
                self.take("]")
                return [inner]
            case _:
                return self.named()

    def named(self) -> Any:
        """A shape's name, with `and {...}` or `without a and b` behind it; anything else is a plain value."""
        name, _, rest = self.take().partition(" ")
        while self.peek() == "|":
            self.take("|")
            self.take()
        if name not in SHAPES:
            return None
        shape = _parsed(SHAPES[name])
        if rest == "and":
            return shape | self.fields()
        if rest.startswith("without "):
            gone = rest.removeprefix("without ").split(" and ")
            return {field: inner for field, inner in shape.items() if field not in gone}
        assert not rest, rest
        return shape

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.take("{")
        while self.peek() != "}":
            name = self.take()
            found[name] = None
            if self.peek() == ":":
                self.take(":")
                found[name] = self.value()
            if self.peek() == ",":
                self.take(",")
        self.take("}")
        return found


def _missing(shape: Any, value: Any, path: str) -> Iterator[str]:
    if shape is None or value is None:
        return
    if isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{path} is no list"
            return
        for n, each in enumerate(value):
            yield from _missing(shape[0], each, f"{path}[{n}]")
        return
    if not isinstance(value, dict):
        yield f"{path} is no object"
        return
    if len(shape) == 1 and set(shape) <= MAPS:
        for name, each in value.items():
            yield from _missing(next(iter(shape.values())), each, f"{path}.{name}")
        return
    for name, inner in shape.items():
        if name not in value:
            yield f"{path}.{name}"
        else:
            yield from _missing(inner, value[name], f"{path}.{name}")
