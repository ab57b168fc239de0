"""A script: what the model says, item by item, or by rules on what it was told last. With it the server plays an agent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from counterfoil.testing.loopback.digest import as_object, as_objects, parse_json

Item = Mapping[str, object]
_BLANK = re.compile(r"\{(\w+)(:d)?\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """`when` is searched in what was said since the model's last answer, `said` in everything that was said to it."""

    when: re.Pattern[str]
    said: re.Pattern[str] | None
    answer: Item

    def found(self, last: str, text: str) -> dict[str, str] | None:
        """What the named groups caught; None where the rule does not fit."""
        newest = self.when.search(last)
        before = None if self.said is None else self.said.search(text)
        if newest is None or (self.said is not None and before is None):
            return None
        caught = {**({} if before is None else before.groupdict()), **newest.groupdict()}
        return {name: value for name, value in caught.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Script:
    """`items` are used up first, one an answer. Then the first rule that fits answers."""

    items: Sequence[Item] = ()
    rules: Sequence[Rule] = ()

    def item(self, n: int, last: str, text: str) -> Item | None:
        """What is said as the `n`-th answer (from 1); None where the script says nothing."""
        if n <= len(self.items):
            return self.items[n - 1]
        for rule in self.rules:
            caught = rule.found(last, text)
            if caught is not None:
                return as_object(_filled(dict(rule.answer), {**caught, "n": str(n)}))
        return None


def read_script(file: Path) -> Script:
    """ValueError for a file that is neither an array of answers nor `{"rules": [{"when", "said"?, "answer"}]}`.

    An answer is {"text": ...}, {"arguments": {...}, "tool"?: NAME}, or {"calls": [{"tool", "arguments"}], "text"?: ...}. In a
    rule's answer `{name}` is what a named group of its patterns caught, `{name:d}` alone the same as a number, `{n}` the
    number of the call.
    """
    value = parse_json(file.read_bytes())
    if isinstance(value, list):
        items = as_objects(cast("object", value))
        if len(items) == len(cast("list[object]", value)) and all(map(_is_answer, items)):
            return Script(items=items)
    elif as_object(value).keys() == {"rules"}:
        rules = as_objects(as_object(value)["rules"])
        if all(isinstance(rule.get("when"), str) and _is_answer(as_object(rule.get("answer"))) for rule in rules):
            return Script(rules=[_rule(file, rule) for rule in rules])
    raise ValueError(
        f'{file} is not a JSON array of {{"arguments": ...}}, {{"text": ...}} and {{"calls": ...}}, nor {{"rules": [...]}}'
    )


def _is_answer(item: Item) -> bool:
    if "calls" in item:
        calls = as_objects(item["calls"])
        return bool(calls) and all(isinstance(call.get("tool"), str) and "arguments" in call for call in calls)
    return bool({"arguments", "text"} & item.keys())


def _rule(file: Path, rule: Item) -> Rule:
    said = rule.get("said")
    try:
        before = re.compile(said, re.DOTALL) if isinstance(said, str) else None
        return Rule(re.compile(str(rule["when"]), re.DOTALL), before, as_object(rule["answer"]))
    except re.error as problem:
        raise ValueError(f"{file}: {problem.pattern!r} is not a pattern: {problem}") from problem


def _filled(value: object, caught: Mapping[str, str]) -> object:
    """The same with the blanks filled. A blank that nothing caught stays as it is written."""
    if isinstance(value, dict):
        return {name: _filled(item, caught) for name, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_filled(item, caught) for item in cast("list[object]", value)]
    if not isinstance(value, str):
        return value
    alone = _BLANK.fullmatch(value)
    if alone is not None and alone[2] and alone[1] in caught:
        return int(caught[alone[1]])
    return _BLANK.sub(lambda blank: caught.get(blank[1], blank[0]), value)
