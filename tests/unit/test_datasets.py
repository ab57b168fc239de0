"""A data set as a file: whatever a model or a person has written comes back as it was, here and in pydantic-evals."""

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from counterfoil.agents.datasets import cases_in, dataset_text
from counterfoil.model.errors import Refused

# Also what YAML would read otherwise: years, octals, `no`, line ends of other systems, directions, half a character.
TRICKY = [
    *("", " ", "no", "~", "2026-11-30", "012", "1e3", "- a", "a: b", "#", "'\"\\", "a\r\nb\n"),
    *("\x85\u2028 x", "\ufeff", "\x00\x1b", "\ud800", "\u202e"),
]
TEXT = st.text(max_size=12) | st.sampled_from(TRICKY)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def case(given_: Any, output: Any) -> dict[str, Any]:
    return {"name": "run-1/3", "inputs": {"input": given_}, "expected_output": output, "metadata": {"verdict": "none"}}


@pytest.mark.parametrize("form", ["json", "yaml"])
@given(first=JSON, second=JSON)
def test_what_was_written_is_read(form: Any, first: Any, second: Any) -> None:
    cases = [case(first, second), case(second, first)]
    content = dataset_text("some", cases, form).encode()
    assert json.dumps(cases_in(content, f"some.{form}")) == json.dumps(
        cases
    )  # as text: 1, 1.0 and true are three things


@pytest.mark.parametrize("form", ["json", "yaml"])
@given(first=JSON)
def test_pydantic_evals_reads_the_same(form: Any, first: Any) -> None:
    evals = pytest.importorskip("pydantic_evals", reason="requirements-evals.txt brings it")
    assume("\\ud800" not in json.dumps(first))  # half a character is no text to pydantic
    text = dataset_text("some", [case(first, first)], form)
    (found,) = evals.Dataset[Any, Any, Any].from_text(text, fmt=form).cases
    assert json.dumps(found.inputs["input"]) == json.dumps(found.expected_output) == json.dumps(first)


def test_one_thing_at_two_places_is_written_twice() -> None:
    shared = {"amount": 3}
    assert "&" not in dataset_text("some", [case(shared, shared)], "yaml")


def test_a_file_that_was_written_by_hand() -> None:
    (found,) = cases_in(b"cases:\n- inputs: {input: tea}\n", "hand.yml")
    assert found == {"name": "case 1", "inputs": {"input": "tea"}, "expected_output": None, "metadata": {}}


@pytest.mark.parametrize(
    "text",
    [
        "cases: [{inputs: {input: 2026-11-30}}]",
        "cases: !!python/object:os.system []",
        "cases: &a [*a]",
        "\t",
        "cases: {a: b}",
        "- a",
    ],
)
def test_what_is_no_dataset_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        cases_in(text.encode(), "hand.yaml")
    assert refused.value.code == "malformed_dataset"
