"""A call's inputs are written as one list, value by value: the text, and so the digest in every journal, is that of the list."""

import json

import pytest

from counterfoil.engine.asked import input_digest
from counterfoil.store.journaling import written, written_list

VALUES = (
    [],
    [1],
    [True, False, None],
    ["plain", 'quo"ted \\ and\n', "Zürich", 10**30, -1, 0.1, 1e300],
    [["nested", {"k": [1, None]}], {"é": "ü"}],
    ["half \ud800 a character", "Zürich"],  # no UTF-8: the whole list is escaped, as it always was
)


@pytest.mark.parametrize("values", VALUES)
def test_a_list_is_written_as_its_values_are(values: list[object]) -> None:
    assert written_list(values) == written(list(values))
    assert json.loads(written_list(values)) == values


@pytest.mark.parametrize(
    "value", ["text", "Zürich", "half \ud800", 0, -7, True, False, None, 0.5, [1, "a"], {"a": None}]
)
def test_a_simple_value_is_written_as_json(value: object) -> None:
    assert json.loads(written(value)) == value
    assert written(value) == written([value])[1:-1]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_is_no_json_is_refused(value: object) -> None:
    for attempt in (lambda: written(value), lambda: written_list([1, value])):
        with pytest.raises((TypeError, ValueError)):
            attempt()


def test_the_digest_of_old_journals() -> None:
    """Digests that stand in stored journals: the bytes under them never change."""
    assert input_digest([3, "a", None, True, 0.5, {"k": ["é"]}]) == "f4d8a0d25772895ee545510834eaeeff"
