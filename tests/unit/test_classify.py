"""What an answer means: ordered rules, and nothing becomes a success that cannot be read."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.model.contract import Contract, IdempotencyKey, Meaning, Rule, When
from counterfoil.model.exchange import Exchange
from counterfoil.rules.classify import classify, replayed, status_class

STRIPE = [
    When(status=409).means("in_progress"),
    When(status=400, body={"error.type": "idempotency_error"}).means("key_mismatch"),
    When(status="5xx", header={"Idempotent-Replayed": "true"}).means("key_poisoned"),
    When(status="2xx").means("applied"),
    When(status={400, 402, 404}).means("refused"),
]


def said(
    rules: list[Rule], status: int, body: bytes = b"{}", headers: dict[str, str] | None = None, **parts: Any
) -> str:
    contract = Contract(api_version="1", classifier=rules, **parts)
    return classify(contract, Exchange("body", True, status, headers or {}, body)).value


@pytest.mark.parametrize(
    ("status", "body", "headers", "meaning"),
    [
        (200, b"{}", {}, "applied"),
        (204, b"", {}, "applied"),
        (409, b"", {}, "in_progress"),
        (402, b"", {}, "refused"),
        (400, b'{"error":{"type":"idempotency_error"}}', {}, "key_mismatch"),
        (400, b'{"error":{"type":"card_error"}}', {}, "refused"),
        (400, b'{"error":"idempotency_error"}', {}, "refused"),
        (400, b"<html>", {}, "ambiguous"),
        (500, b"{}", {"idempotent-replayed": "True"}, "key_poisoned"),
        (500, b"{}", {}, "ambiguous"),
        (302, b"{}", {}, "ambiguous"),
    ],
)
def test_the_first_rule_that_fits_decides(status: int, body: bytes, headers: dict[str, str], meaning: str) -> None:
    assert said(STRIPE, status, body, headers) == meaning


def test_an_error_inside_a_success_is_seen_and_an_unreadable_one_is_no_success() -> None:
    rules = [When(status=200, body={"ok": False}).means("refused"), When(status="2xx").means("applied")]
    assert said(rules, 200, b'{"ok":false}') == "refused"
    assert said(rules, 200, b'{"ok":true}') == "applied"
    assert said(rules, 200, b"not json") == "ambiguous"
    assert said(rules, 200, b"[" * 100_000) == "ambiguous"
    assert said(rules, 201, b"not json") == "applied"  # no rule for 201 reads the body


def test_json_false_and_zero_are_two_values() -> None:
    rules = [When(body={"ok": False}).means("refused"), When(body={"ok": 0}).means("applied")]
    assert said(rules, 200, b'{"ok":0}') == "applied"
    assert said(rules, 200, b'{"ok":false}') == "refused"


@pytest.mark.parametrize(
    ("body", "meaning"),
    [
        (b'{"data":{"errors":[{"code":"x"}]}}', "refused"),
        (b'{"data":{"errors":[]}}', "applied"),
        (b'{"data":{"errors":null}}', "applied"),
        (b'{"data":{}}', "applied"),
        (b"[1]", "applied"),
    ],
)
def test_something_there_is_not_something_empty(body: bytes, meaning: str) -> None:
    rules = [When(status=200, body={"data.errors": ...}).means("refused"), When(status=200).means("applied")]
    assert said(rules, 200, body) == meaning


def test_a_path_reaches_into_lists() -> None:
    rules = [When(body={"errors.1.code": "x"}).means("refused")]
    assert said(rules, 200, b'{"errors":[{},{"code":"x"}]}') == "refused"
    assert said(rules, 200, b'{"errors":[{"code":"x"}]}') == "ambiguous"
    assert said(rules, 200, b'{"errors":{"x":1}}') == "ambiguous"


def test_a_header_may_only_have_to_be_there() -> None:
    rules = [When(status=503, header={"Retry-After": "*"}).means("not_applied")]
    assert said(rules, 503, headers={"retry-after": "7"}) == "not_applied"
    assert said(rules, 503) == "ambiguous"


def test_what_comes_before_execution_is_read_after_the_rules() -> None:
    rules = [When(status="2xx").means("applied"), When(status=429, header={"x-charged": "*"}).means("refused")]
    assert said(rules, 429, before_execution={401, 429}) == "not_applied"
    assert said(rules, 429, headers={"x-charged": "1"}, before_execution={401, 429}) == "refused"
    assert said(rules, 503, before_execution={"5xx"}) == "not_applied"
    assert said(rules, 500, before_execution={"4xx"}) == "ambiguous"


@pytest.mark.parametrize(
    ("stages", "meaning"),
    [(None, "ambiguous"), ("one", "applied"), ("asynchronous", "in_progress"), ("prepare_confirm", "ambiguous")],
)
def test_accepted_for_processing_is_not_yet_an_effect(stages: Any, meaning: str) -> None:
    applied = When(status="2xx").means("applied")
    assert said([applied], 202, stages=stages) == meaning
    assert said([When(status=202).means("applied")], 202, stages=stages) == "applied"
    assert (
        said([When(status="2xx", body={"done": True}).means("applied")], 202, b'{"done":true}', stages=stages)
        == "applied"
    )


@pytest.mark.parametrize(
    "exchange",
    [
        Exchange("headers", True, 200, problem="cut"),
        Exchange("headers", True, 200),
        Exchange("body", True, 200, problem="too large"),
        Exchange("request", True, problem="reset"),
        Exchange("body", True, None),
    ],
)
def test_half_an_answer_is_a_doubt(exchange: Exchange) -> None:
    contract = Contract(api_version="1", classifier=[When().means("applied")])
    assert classify(contract, exchange) is Meaning.AMBIGUOUS


def test_what_never_left_was_not_applied() -> None:
    contract = Contract(api_version="1", classifier=[When().means("applied")])
    assert classify(contract, Exchange("connected", False, problem="refused")) is Meaning.NOT_APPLIED


@given(
    st.integers(100, 599),
    st.binary(max_size=40),
    st.sampled_from(["nothing", "connected", "request", "headers", "body"]),
)
def test_without_a_rule_that_fits_nothing_is_ever_concluded(status: int, body: bytes, reached: Any) -> None:
    contract = Contract(api_version="1", classifier=[When(status=299).means("applied")])
    meaning = classify(contract, Exchange(reached, True, status, {}, body))
    assert meaning is (Meaning.APPLIED if status == 299 and reached == "body" else Meaning.AMBIGUOUS)


def test_an_unknown_status_or_meaning_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="2XX"):
        When(status="2XX").means("applied")
    with pytest.raises(ValueError, match="done"):
        When().means("done")  # pyright: ignore[reportArgumentType]


def test_a_replay_is_known_only_where_the_contract_names_its_mark() -> None:
    def contract(mark: dict[str, str] | None) -> Contract:
        key = IdempotencyKey(header="K", retention=timedelta(hours=1), replay_marker=mark)
        return Contract(api_version="1", classifier=[When().means("applied")], key=key)

    assert replayed(contract({"X-Replayed": "true"}), {"x-replayed": "true"}) is True
    assert replayed(contract({"X-Replayed": "true"}), {"x-replayed": "false"}) is False
    assert replayed(contract({"X-Replayed": "*"}), {"x-replayed": "1"}) is True
    assert replayed(contract(None), {"x-replayed": "true"}) is None
    assert replayed(Contract(api_version="1", classifier=[]), {}) is None


def test_a_status_belongs_to_a_class() -> None:
    assert [status_class(status) for status in (100, 204, 399, 599)] == ["1xx", "2xx", "3xx", "5xx"]
