"""The contract as a record: stored and read back, its contradictions, and what it says in plain words."""

from datetime import timedelta
from typing import Any

import pytest

from counterfoil.model.contract import (
    Contract,
    Found,
    IdempotencyKey,
    Lookup,
    Provenance,
    Reference,
    Seen,
    Version,
    Webhook,
    When,
    contradictions,
    gaps,
    refusal_at_start,
)
from counterfoil.model.contract_parts import Carrier
from counterfoil.model.exchange import KEPT, Exchange
from counterfoil.model.ids import KeyFormat
from counterfoil.model.receipt import Receipt
from counterfoil.rules.contract_sentences import plain_sentences
from tests.unit.operation_records import APPLIED, ASKED, KEY, contract, find

FULL = Contract(
    api_version="2020-08-27",
    action="POST /v1/refunds",
    classifier=[
        When(status=409).means("in_progress"),
        When(status=400, body={"error.type": "idempotency_error", "errors": ...}).means("key_mismatch"),
        When(status="5xx", header={"Idempotent-Replayed": "true"}).means("key_poisoned"),
        APPLIED,
    ],
    key=IdempotencyKey(
        header="Idempotency-Key",
        format=KeyFormat.UUID,
        retention=timedelta(hours=24),
        account_retention=timedelta.max,
        clock="completion",
        margin=timedelta(minutes=1),
        scope={"endpoint"},
        other_body="rejects",
        saves={"2xx", "5xx"},
        replay_marker={"Idempotent-Replayed": "true"},
        in_progress="status",
        lock_timeout=timedelta(minutes=2),
        arrives_within=timedelta(seconds=90),
    ),
    lookup=ASKED,
    procedure="Open the dashboard.",
    duplicate="costly",
    before_execution={429, "4xx"},
    reference=Reference(body="metadata.operation"),
    receipts=[Webhook(type="refund.created", operation="data.metadata.operation", dedupe="id")],
    stages="one",
    precondition="create_if_absent",
    compensation="Refund it.",
    counts_as={"type", "reference", "seen_twice"},
    provenance=Provenance(sources=["https://docs"], date="2026-11", confidence={"key.saves": "documented"}),
    request_timeout=timedelta(seconds=7),
)


@pytest.mark.parametrize("whole", [FULL, contract()])
def test_a_stored_contract_reads_back_the_same(whole: Contract) -> None:
    again = Contract.from_stored(whole.stored())
    assert again.stored() == whole.stored()
    assert again.digest() == whole.digest()
    assert again.digest().startswith("sha256:")
    if whole.lookup is not None:
        assert again.lookup is not None
        assert again.lookup.function == "tests.unit.operation_records:find"
        assert again.classifier == whole.classifier
        assert again.key == whole.key


def test_the_digest_does_not_depend_on_the_order_of_a_set() -> None:
    one = contract(key=IdempotencyKey(header="K", retention=timedelta(1), saves={"2xx", "4xx", "5xx"}))
    two = contract(key=IdempotencyKey(header="K", retention=timedelta(1), saves={"5xx", "4xx", "2xx"}))
    assert one.digest() == two.digest()


def test_what_is_given_is_kept_as_it_was() -> None:
    rules, saves = [APPLIED], {"2xx"}
    made = contract(classifier=rules, key=IdempotencyKey(header="K", retention=timedelta(1), saves=saves))
    rules.clear()
    saves.clear()
    assert contradictions(made) == []


def test_a_contract_without_contradiction_may_start() -> None:
    assert contradictions(FULL) == []
    assert refusal_at_start("pay", FULL, has_business_key=True, repeatable=False) is None


def keyed(**parts: Any) -> dict[str, Any]:
    return {"key": IdempotencyKey(**{"header": "K", "retention": timedelta(hours=1), **parts})}


def proven(**parts: Any) -> dict[str, Any]:
    return {"provenance": Provenance(**{"sources": ["doc"], "date": "2026", **parts}), **keyed(saves={"2xx"})}


MISMATCH, POISONED = When(status=422).means("key_mismatch"), When(status=500).means("key_poisoned")


@pytest.mark.parametrize(
    ("parts", "clause"),
    [
        ({"api_version": " "}, "api_version is empty"),
        ({"procedure": ""}, "procedure is empty"),
        ({"compensation": ""}, "compensation is empty"),
        ({"action": ""}, "action is empty"),
        ({"duplicate": "cheap"}, "duplicate is 'cheap'"),
        ({"stages": "two"}, "stages is 'two'"),
        ({"precondition": "luck"}, "precondition is 'luck'"),
        (keyed(clock="noon"), "key.clock is 'noon'"),
        (keyed(other_body="eats"), "key.other_body is 'eats'"),
        (keyed(in_progress="sings"), "key.in_progress is 'sings'"),
        ({"lookup": Lookup(find, consistency="weak")}, "lookup.consistency is 'weak'"),  # pyright: ignore[reportArgumentType]
        ({"lookup": Lookup(find, finds_by="luck")}, "lookup.finds_by is 'luck'"),  # pyright: ignore[reportArgumentType]
        (keyed(margin=timedelta(-1)), "key.margin is -1 day"),
        (keyed(retention=timedelta(0)), "key.retention is 0:00:00"),
        (keyed(account_retention=timedelta(0)), "key.account_retention is 0:00:00"),
        (keyed(lock_timeout=timedelta(0)), "key.lock_timeout is 0:00:00"),
        (keyed(arrives_within=timedelta(-1)), "key.arrives_within is -1 day"),
        ({"lookup": Lookup(find, visible_within=timedelta(-1))}, "lookup.visible_within is -1 day"),
        ({"lookup": Lookup(find, arrives_within=timedelta(-1))}, "lookup.arrives_within is -1 day"),
        ({"lookup": Lookup(find, pause=timedelta(-1))}, "lookup.pause is -1 day"),
        ({"request_timeout": timedelta(0)}, "request_timeout is 0:00:00"),
        ({"receipts": [Webhook(type="", operation="a", dedupe="b")]}, "a webhook lacks"),
        ({"classifier": []}, "no rule of the classifier means applied"),
        ({"classifier": [APPLIED, MISMATCH]}, "key_mismatch and there is no key"),
        ({"classifier": [APPLIED, POISONED]}, "key_poisoned and there is no key"),
        ({"classifier": [When().means("ambiguous"), APPLIED]}, "rule 1 fits every answer"),
        ({"classifier": [When(status="2xx").means("refused"), APPLIED]}, "rule 1 means refused for every success"),
        ({"classifier": [When(status=200).means("refused"), APPLIED]}, "rule 1 means refused for every success"),
        ({"classifier": [When(status="5xx").means("applied")]}, "rule 1 means applied for every server error"),
        ({"before_execution": {"2xx"}}, "before_execution holds 2xx"),
        ({"before_execution": {201}}, "before_execution holds 201"),
        ({"before_execution": {"5XX"}}, "before_execution holds '5XX'"),
        ({"stages": "prepare_confirm"}, "stages is prepare_confirm and there is no key"),
        ({"stages": "asynchronous"}, "stages is asynchronous and neither"),
        (keyed(query="k"), "key travels in header:K and query:k"),
        (keyed(header=None), "key travels in no place"),
        ({"reference": Reference()}, "reference travels in no place"),
        (keyed(after_window="sleeps"), "key.after_window is 'sleeps'"),
        (keyed(unsaved="sings"), "key.unsaved is 'sings'"),
        (keyed(max_length=25), "key.format text makes 30 characters and key.max_length is 25"),
        (keyed(min_length=32), "key.format text makes 30 characters and key.min_length is 32"),
        (keyed(replay_body={}), "key.replay_body is empty"),
        ({"version": Version()}, "version travels in no place"),
        ({"version": Version(path="/v1/")}, "has no {} where the version stands"),
        ({"completes_within": timedelta(hours=1)}, "completes_within is given and stages is not asynchronous"),
        (
            {"completes_within": timedelta(0), "stages": "asynchronous", "lookup": Lookup(find)},
            "completes_within is 0:00:00",
        ),
        (keyed(scope={"planet"}), "key.scope holds ['planet']"),
        (keyed(saves={"2xx", "6xx"}), "key.saves holds ['6xx']"),
        (keyed(saves={"5xx"}), "key.saves leaves out 2xx"),
        (keyed(in_progress="status"), "no rule means in_progress"),
        ({**keyed(saves={"2xx"}), "classifier": [APPLIED, POISONED]}, "key.saves holds no error"),
        ({**keyed(other_body="replays"), "classifier": [APPLIED, MISMATCH]}, "key_mismatch and key.other_body"),
        (keyed(replay_marker={}), "key.replay_marker is empty"),
        (
            {"lookup": Lookup(find, consistency="strong", absence_authorises=True)},
            "unknown: visible_within, arrives_within",
        ),
        ({"counts_as": {"colour"}}, "counts_as holds ['colour']"),
        ({"counts_as": {"reference"}}, "the contract stamps none"),
        ({"counts_as": {"seen_twice"}}, "no lookup says how far apart"),
        ({"counts_as": {"seen_twice"}, "lookup": Lookup(find)}, "no lookup says how far apart"),
        (proven(sources=[]), "provenance names no source"),
        (proven(date=None), "provenance names no date"),
        (proven(confidence={"key.saves": "sure"}), "provenance.confidence of key.saves is 'sure'"),
        (proven(confidence={"lookup.pause": "unknown"}), "lookup.pause, which the contract does not have"),
        (proven(confidence={"key.colour": "unknown"}), "key.colour, which the contract does not have"),
        (proven(confidence={"key.saves": "unknown"}), "key.saves is claimed and its provenance says unknown"),
        (proven(confidence={"request_timeout": "unknown"}), "request_timeout is claimed"),
    ],
)
def test_a_contradiction_is_named(parts: dict[str, Any], clause: str) -> None:
    made = contract(**parts)
    found = contradictions(made)
    assert len(found) == 1
    assert clause in found[0]
    refusal = refusal_at_start("pay", made, has_business_key=True, repeatable=False)
    assert refusal is not None
    assert refusal.code == "contract_contradiction"
    assert found[0] in refusal.message


def test_a_window_without_a_value_is_a_gap_that_the_account_fills() -> None:
    made = contract(**keyed(retention=None))
    assert contradictions(made) == [] and "a window without a value" in gaps(made)[0]
    refusal = refusal_at_start("pay", made, has_business_key=True, repeatable=False)
    assert refusal is not None and refusal.code == "contract_contradiction" and gaps(made)[0] in refusal.message
    assert gaps(contract(**keyed(retention=None, account_retention=timedelta(1)))) == []
    assert gaps(contract(**keyed(retention=None), precondition="create_if_absent")) == []
    assert gaps(contract()) == []


def test_unknown_values_that_claim_nothing_contradict_nothing() -> None:
    quiet = proven(confidence={"key.scope": "unknown", "key.saves": "inferred"})
    assert contradictions(contract(**quiet)) == []
    assert contradictions(contract(**keyed(retention=None, account_retention=timedelta(1)))) == []


def test_without_key_and_lookup_the_procedure_must_be_written() -> None:
    def code(**parts: Any) -> str | None:
        refusal = refusal_at_start("pay", contract(**parts), has_business_key=True, repeatable=False)
        return None if refusal is None else refusal.code

    assert code() == "no_way_to_know"
    assert code(procedure="Ask the desk.") is None
    assert code(key=KEY) is None
    assert code(lookup=ASKED) is None
    assert code(precondition="create_if_absent") is None


@pytest.mark.parametrize("duplicate", ["costly", "irreversible", "benign"])
def test_a_duplicate_that_hurts_needs_a_business_key_or_a_word_that_equal_actions_are_meant(duplicate: Any) -> None:
    made = contract(key=KEY, duplicate=duplicate)
    refusal = refusal_at_start("pay", made, has_business_key=False, repeatable=False)
    assert (refusal is None) == (duplicate == "benign")
    if refusal is not None:
        assert refusal.code == "no_business_key"
        assert duplicate in refusal.message
    assert refusal_at_start("pay", made, has_business_key=False, repeatable=True) is None


def test_what_a_lookup_saw_is_kept_as_it_was_given() -> None:
    seen = Seen([Found(Receipt(reference="re_1"))], complete=True)
    assert (seen.records[0].receipt.reference, seen.records[0].payload, seen.complete) == ("re_1", None, True)


def test_a_carrier_names_its_places() -> None:
    assert Carrier(header="H", query="q", body="b").places == ["header:H", "query:q", "body:b"]


def test_plain_words_say_the_least_when_nothing_is_known() -> None:
    told = " ".join(plain_sentences(contract()))
    assert "A retry is a second effect" in told
    assert "nothing can prove that it did not happen" in told
    assert "In doubt: ask a person." in told
    assert "No procedure is written down." in told
    assert "not recorded" in told


def test_plain_words_say_everything_that_is_known() -> None:
    told = " ".join(plain_sentences(FULL))
    for part in (
        "POST /v1/refunds is described for API version 2020-08-27.",
        "costs money or work",
        "given up after 7 seconds",
        "harmless at any time",
        "header:Idempotency-Key, as uuid",
        "for ever",
        "1 minute of that time",
        "up to 90 seconds late",
        "within the same endpoint",
        "is rejected",
        "2xx, 5xx are kept",
        "a repeat is told so",
        "marked (Idempotent-Replayed: true)",
        "lets go after 2 minutes",
        "Status 429, 4xx comes before",
        "4 rules say",
        "strong consistency",
        "found by our key is ours",
        "after at most 30 seconds",
        "it is sent again",
        "body:metadata.operation",
        "refund.created",
        "reference, seen_twice, type",
        "repeat while that is harmless, then ask the receiver, then wait for its message, then ask a person",
        "What that person does: Open the dashboard.",
        "by a person only: Refund it.",
        "https://docs (2026-11)",
        "key.saves is documented.",
    ):
        assert part in told, part


def test_plain_words_keep_what_is_unknown_apart_from_what_is_denied() -> None:
    told = " ".join(plain_sentences(contract(lookup=Lookup(find), precondition="expected_version")))
    assert "only on the version it was written for" in told
    assert "unknown consistency" in told
    assert "ours only if its content equals" in told
    assert "after at most an unknown time" in told
    assert "Not found proves nothing" in told
    assert "A retry is a second effect" not in told
    assert "receiver takes no key" not in told
    found = " ".join(plain_sentences(contract(lookup=Lookup(find, finds_by="operation_id"))))
    assert "found by our operation id is ours" in found


def test_what_is_done_later_says_by_when() -> None:
    told = " ".join(plain_sentences(contract(stages="asynchronous", completes_within=timedelta(hours=2))))
    assert "done after at most 2 hours; until then it is asked again" in told


def test_one_rule_and_no_scope_have_their_own_words() -> None:
    told = " ".join(plain_sentences(contract(classifier=[APPLIED], **keyed(scope=set()))))
    assert "1 rule says" in told
    assert "Nothing narrows the key." in told
    assert "What narrows the key is unknown" in " ".join(plain_sentences(contract(**keyed())))
    assert "until 1 hour after it was first sent" in told
    assert "A refusal closes" not in told


@pytest.mark.parametrize(
    ("body", "encoding"), [("ü".encode(), "text"), (b"\xff\x00", "base64"), (b"", "text"), (b"x" * KEPT, "text")]
)
def test_an_exchange_is_kept_and_read_back(body: bytes, encoding: str) -> None:
    exchange = Exchange("body", True, 200, {"a": "b"}, body, None, "sha256:r", True)
    assert f'"encoding":"{encoding}"' in exchange.kept()
    assert Exchange.from_kept(exchange.kept()) == exchange


def test_a_long_body_is_kept_short_and_says_so() -> None:
    kept = Exchange.from_kept(Exchange("body", True, 200, {}, b"x" * (KEPT + 1)).kept())
    assert len(kept.body) == KEPT
    assert not kept.complete
    assert kept.problem == "the kept body is shortened"


def test_secrets_in_headers_are_not_kept() -> None:
    headers = {"set-cookie": "a=b", "authorization": "x", "content-type": "text/plain"}
    assert Exchange.from_kept(Exchange("body", True, 200, headers).kept()).headers == {"content-type": "text/plain"}
