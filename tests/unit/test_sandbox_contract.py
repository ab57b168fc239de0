"""The contract record: what it accepts, what it refuses, and that it survives JSON."""

import json

import pytest

from counterfoil.testing.sandbox import KINDS, SandboxContract, contract_of_kind


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_survives_json(kind: str) -> None:
    contract = contract_of_kind(kind)
    assert SandboxContract.from_json(json.loads(json.dumps(contract.to_json()))) == contract


def test_the_demo_kinds_and_all_letters_exist() -> None:
    assert set(KINDS) == {"key", "lookup", "none", *"ABCDEFGHIJ"}


def test_unknown_kind_names_those_that_exist() -> None:
    with pytest.raises(ValueError, match="unknown kind 'K'; there are: key, lookup, none, A"):
        contract_of_kind("K")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("saves", ["3xx"]),
        ("saves", "2xx"),
        ("key_scope", ["planet"]),
        ("lookup_by", ["name"]),
        ("other_body", "sometimes"),
        ("in_progress", None),
        ("replay", 1),
        ("lookup_consistency", "weak"),
        ("mismatch_status", 200),
        ("mismatch_status", 422.5),
        ("in_progress_status", True),
        ("key_window_seconds", -1),
        ("lookup_lag_seconds", None),
        ("late_arrival_seconds", "5"),
        ("lookup", "yes"),
        ("key_header", 7),
        ("kind", None),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        SandboxContract.from_json({field: value})


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        ("saves", [], frozenset[str]()),
        ("key_header", None, None),
        ("key_window_seconds", None, None),
        ("lock_timeout_seconds", 3, 3.0),
        ("unique_field", "number", "number"),
        ("two_step", True, True),
    ],
)
def test_a_value_that_fits_is_kept(field: str, value: object, stored: object) -> None:
    assert getattr(SandboxContract.from_json({field: value}), field) == stored


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match="no field colour, size"):
        SandboxContract.from_json({"size": 1, "colour": 2})


def test_something_else_than_an_object_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON object"):
        SandboxContract.from_json([])
