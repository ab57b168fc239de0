"""For each attribute of a contract: one case that ends well, and one where the contract and its receiver differ.

The list comes from the model: an attribute without its two cases fails.
"""

from dataclasses import fields
from typing import Any

import pytest

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, Provenance, Reference, Rule, Version, Webhook
from tests.receivers.attributes import ENDED_BADLY, Case
from tests.receivers.attributes_of_answers import ANSWERS, CARRIED, TOLD
from tests.receivers.attributes_of_evidence import LOOKUPS, MESSAGES
from tests.receivers.attributes_of_keys import KEYS
from tests.traps.conftest import stage
from tests.traps.stage import Build

__all__ = ["stage"]

CASES = [*KEYS, *CARRIED, *ANSWERS, *TOLD, *LOOKUPS, *MESSAGES]
PARTS: dict[str, Any] = {
    "": Contract,
    "key": IdempotencyKey,
    "lookup": Lookup,
    "reference": Reference,
    "version": Version,
    "receipts": Webhook,
    "classifier": Rule,
    "provenance": Provenance,
}


def test_each_attribute_of_the_model_has_its_two_cases() -> None:
    declared = {f"{part}.{each.name}".lstrip(".") for part, kind in PARTS.items() for each in fields(kind)}
    assert sorted(case.path for case in CASES) == sorted(declared)
    assert all(case.wrong or case.differs for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path)
def test_what_a_contract_says_and_its_receiver_keeps_ends_with_one_record(stage: Build, case: Case) -> None:
    ended = case.played(stage, wrong=False)
    assert ended.well, ended


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path)
def test_a_contract_that_says_otherwise_than_its_receiver_does_is_seen(stage: Build, case: Case) -> None:
    ended = case.played(stage, wrong=True)
    assert ended == case.ends
    done, none_there = ended.state == "completed", ended.held == 0
    denied = ended.state in ENDED_BADLY and ended.held > 0
    assert ended.held > 1 or ended.incidents or denied or (done and none_there) or not done
