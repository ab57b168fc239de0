"""The catalogue of receivers: every file loads, contradicts nothing, is read whole, and its plan is what the rules say."""

import json
import subprocess
import sys
import tomllib
from dataclasses import fields, replace
from datetime import timedelta
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, Meaning, Provenance, Webhook, When, gaps
from counterfoil.model.errors import Refused
from counterfoil.receivers.catalogue import contract, entries, entry, ids
from counterfoil.receivers.catalogue.checking import READERS, check_contract, check_entry, reads, unread_fields
from counterfoil.receivers.catalogue.entry import FOLDER, KINDS, read_entry, unknown_fields
from counterfoil.receivers.catalogue.plan import plan_of
from counterfoil.receivers.catalogue.reading import Misread, overridden, read_contract
from counterfoil.receivers.catalogue.shown import shown, window_of
from counterfoil.rules.contract_sentences import plain_sentences

SCHEMA = json.loads((FOLDER / "schema.json").read_text())
FIT = jsonschema.Draft202012Validator(SCHEMA)
SMALL: dict[str, Any] = {"api_version": "1", "classifier": [{"status": "2xx", "means": "applied"}]}


def table(id: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{id}.toml").read_text())


@pytest.mark.parametrize("id", ids())
def test_an_entry_holds_and_its_plan_is_what_the_rules_say(id: str) -> None:
    FIT.validate(table(id))
    checked = check_entry(id)
    assert checked["loads"] and not checked["contradictions"] and not checked["unread_fields"], checked
    found = entry(id)
    assert [stage.step for stage in plan_of(found.contract)] == list(found.plan)
    assert Contract.from_stored(found.contract.stored()).digest() == found.contract.digest()
    provenance = found.contract.provenance
    assert provenance is not None and provenance.sources and provenance.date
    first = plan_of(found.contract)[0].ruling
    if gaps(found.contract) or (found.contract.key is None and found.contract.precondition is None):
        assert first != "repeat", "what nobody knows is never a reason to repeat"
    assert all(" None" not in sentence for sentence in plain_sentences(found.contract))


def test_there_is_an_entry_for_each_action_that_was_gathered() -> None:
    assert len(ids()) >= 77 and {found.kind for found in entries()} == set(KINDS)
    assert {found.id for found in entries()} == set(ids())


def test_what_is_not_verified_is_unknown() -> None:
    """A claim in the contract rests on a text that was read; where none was, its confidence is unknown and so is the value."""
    xero = entry("xero")
    assert any("retention" in word for word in xero.not_verified)
    assert xero.contract.key is not None and xero.contract.key.retention is None
    assert "key.retention" in unknown_fields(xero.contract) and shown(xero)["gaps"]
    claimed = overridden(xero.contract, {"key.retention": "6 minutes"})
    assert xero.contract.provenance is not None
    lying = replace(claimed, provenance=xero.contract.provenance)
    assert "key.retention is claimed and its provenance says unknown" in check_contract("x", lying)["contradictions"]


def test_one_vendor_has_several_contracts() -> None:
    windows = [window_of(entry(id).contract) for id in ("paypal", "paypal_payments", "paypal_vault", "paypal_catalog")]
    assert windows == ["6 hours", "45 days", "3 hours", "3 days"]
    assert (window_of(entry("github_issue_comment").contract), window_of(entry("salesforce_upsert").contract)) == (
        "never",
        "for ever",
    )


def test_a_contract_for_an_application_asks_only_by_a_function_of_yours() -> None:
    def find(ask: Any, payload: Any) -> Any: ...

    assert contract("stripe_v1").lookup is None
    asked = contract("stripe_v1", find=find, overrides={"key.account_retention": timedelta(hours=72)})
    assert asked.lookup is not None and asked.lookup.function is find and asked.lookup.consistency == "strong"
    assert asked.key is not None and asked.key.account_retention == timedelta(hours=72)
    assert asked.provenance is not None and asked.provenance.confidence["key.account_retention"] == "documented"
    mail = contract("aws_ses_v2_send", find=find)
    assert mail.lookup == Lookup(find)


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"key.retention": "-1 days"}, "not a time"),
        ({"key.nothing": 1}, "no attribute"),
        ({"lookup.pause": "1 hour"}, "no attribute"),
    ],
)
def test_an_override_that_says_nothing_is_refused(overrides: dict[str, Any], problem: str) -> None:
    with pytest.raises(Refused) as refused:
        check_entry("zuora", overrides)
    assert refused.value.code == "usage" and problem in refused.value.message


def test_an_override_that_contradicts_is_refused() -> None:
    assert check_entry("zuora", {"key.saves": ["4xx"]})["contradictions"]
    with pytest.raises(Refused) as refused:
        contract("zuora", overrides={"key.saves": {"4xx"}})
    assert refused.value.code == "contract_contradiction"
    assert not check_entry("nats_jetstream", {"key.account_retention": "2 minutes"})["gaps"]


def test_an_entry_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(Refused) as refused:
        check_entry("nobody")
    assert refused.value.code == "not_found"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"plan": ["lost reply: send"]}, "the reviewed plan is"),
        ({"id": "other"}, "says that it is other"),
        ({"contract": SMALL}, "there is no provenance"),
    ],
)
def test_a_file_that_was_changed_alone_is_found(
    changed: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = read_entry({**table("zuora"), **changed})
    monkeypatch.setattr("counterfoil.receivers.catalogue.checking.entry", lambda id: made)
    assert any(problem in said for said in check_entry("zuora")["contradictions"])


def test_a_file_that_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(id: str) -> None:
        raise Refused("contract_unreadable", name=id, problem="torn")

    monkeypatch.setattr("counterfoil.receivers.catalogue.checking.entry", broken)
    checked = check_entry("zuora")
    assert checked["loads"] is False and "torn" in checked["contradictions"][0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": {"header": "K", "retention": "a day"}},
        {"key": {"header": "K", "lasts": "1 day"}},
        {"classifier": [{"status": "2xy", "means": "applied"}]},
        {"classifier": [{"status": "2xx", "means": "done"}]},
        {"classifier": [{"status": "2xx", "meaning": "applied"}]},
        {"surprise": 1},
    ],
)
def test_a_misread_table_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Misread):
        read_contract({**SMALL, **wrong})


def test_a_missing_or_unknown_word_of_an_entry_is_refused() -> None:
    for wrong in ({"surprise": 1}, {"kind": None}):
        made = {name: value for name, value in {**table("zuora"), **wrong}.items() if value is not None}
        with pytest.raises(Misread):
            read_entry(made)


def test_a_receiver_that_takes_no_key_is_said_so() -> None:
    """A server that speaks a vendor's protocol and ignores its keys: nothing that is only said of a key is left."""

    def find(ask: object, payload: object) -> None:
        del ask, payload

    kept = contract("stripe_v1", find=find, overrides={"key": None})
    assert kept.key is None and kept.lookup is not None
    about_keys = (Meaning.KEY_MISMATCH, Meaning.KEY_POISONED)
    assert kept.classifier and all(rule.meaning not in about_keys for rule in kept.classifier)
    assert kept.provenance is not None and not [path for path in kept.provenance.confidence if path.startswith("key.")]
    assert contract("stripe_v1", find=find).key is not None


def test_every_attribute_of_a_contract_has_a_reader_that_is_there() -> None:
    parts = {"key": IdempotencyKey, "lookup": Lookup, "provenance": Provenance, "": Contract}
    declared = {f"{holder}.{field.name}".lstrip(".") for holder, kind in parts.items() for field in fields(kind)}
    places = {f"{part}.{place}" for part in ("reference", "version") for place in ("header", "query", "body", "path")}
    assert declared - {*parts, "reference", "version"} | places == set(READERS)
    unread = [path for path, reader in READERS.items() if not reads(reader, path.rpartition(".")[2])]
    assert not unread


def test_an_attribute_that_nothing_reads_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, "duplicate", "rules.absence:at_work")  # type: ignore[arg-type]
    assert unread_fields(entry("zuora").contract) == ["duplicate"]
    monkeypatch.setitem(READERS, "duplicate", "rules.absence:nowhere")  # type: ignore[arg-type]
    assert unread_fields(entry("zuora").contract) == ["duplicate"]


def test_a_file_says_everything_that_a_contract_can_say() -> None:
    read = read_contract(
        {
            **SMALL,
            "key": {"body": "key", "retention": "1 hour", "replay_body": {"again": True, "id": "<there>"}},
            "receipts": [{"type": "paid", "operation": "ref", "dedupe": "id"}],
            "lookup": {"visible_within": "1 minute"},
            "version": {"header": "X-Version"},
        }
    )
    assert read.key is not None and read.key.replay_body == {"again": True, "id": ...}
    assert read.receipts == (Webhook(type="paid", operation="ref", dedupe="id"),)
    assert read.classifier == (When(status="2xx").means("applied"),)
    assert Contract.from_stored(read.stored()).stored() == read.stored()


def test_nothing_of_the_catalogue_is_read_at_import() -> None:
    told = "import sys, counterfoil, counterfoil.app; print([m for m in sys.modules if 'catalogue' in m])"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
    assert files("counterfoil.receivers.catalogue").joinpath("stripe_v1.toml").is_file()
