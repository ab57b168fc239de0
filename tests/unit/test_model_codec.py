"""Canonical bytes: equal values have one digest, and what is no JSON is refused by name."""

import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.model.codec import canonical, compact, digest_of, is_storable, parsed, payload_digest, storable
from counterfoil.model.errors import Refused

LEAVES = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


def test_a_digest_is_sha256_of_the_bytes_as_anybody_computes_it() -> None:
    assert digest_of(b"abc") == "sha256:" + hashlib.sha256(b"abc").hexdigest()
    assert payload_digest({"b": 1, "a": [True, None]}) == digest_of(b'{"a":[true,null],"b":1}')


@given(st.dictionaries(st.text(), LEAVES, max_size=6))
def test_the_order_of_fields_does_not_count(value: dict[str, Any]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


@given(VALUES, VALUES)
def test_equal_bytes_mean_equal_values(one: Any, other: Any) -> None:
    # json.dumps tells True from 1, which Python's == does not.
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (canonical(one) == canonical(other)) == same


@given(VALUES)
def test_what_is_stored_is_read_back(value: Any) -> None:
    assert parsed(compact(value)) == value
    assert json.loads(canonical(value)) == value


@pytest.mark.parametrize("text", ["\ud800", "ü\udfff", "👍", "\x00"])
def test_half_a_character_can_be_stored_and_is_read_back(text: str) -> None:
    """A receiver's JSON can hold one. It must not stop the writer, on which every run waits."""
    stored = compact({"problem": text})
    assert parsed(stored.encode().decode()) == {"problem": text}


def test_nothing_stored_is_nothing() -> None:
    assert parsed(None) is None


HOSTILE: dict[str, Any] = {
    "not a number": math.nan,
    "infinite": math.inf,
    "too large for a double": 2**53,
    "a time": datetime(2026, 1, 1, tzinfo=UTC),
    "bytes": b"x",
    "a set": {1},
    "half a character": "\ud800",
    "a number as a name": {1: "x"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_json_is_refused_by_name(name: str) -> None:
    with pytest.raises(Refused) as refused:
        canonical({"amount": HOSTILE[name]}, where="the payload of create_refund")
    assert refused.value.code == "unserializable"
    assert "the payload of create_refund" in refused.value.message


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(Refused) as refused:
        canonical(value)
    assert refused.value.code == "unserializable"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_stored_is_json_for_others_too(value: float) -> None:
    with pytest.raises(ValueError):
        compact(value)


def test_what_no_database_can_hold_is_replaced_where_it_is_told_and_told_apart_where_it_names_something() -> None:
    told = {"a\x00": ["b\ud800", 1, None, {"c": "\udfffd"}]}
    assert storable(told) == {"a\ufffd": ["b\ufffd", 1, None, {"c": "\ufffdd"}]}
    assert [is_storable(text) for text in ("plain \U0001f44d", "a\x00", "\ud800")] == [True, False, False]
