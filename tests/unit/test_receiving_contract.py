"""The contract that a promise writes; and what the kit does not bring along."""

import json
import subprocess
import sys
import tomllib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import Exchange
from counterfoil.receivers.catalogue import contract_in, read_contract
from counterfoil.receivers.catalogue.checking import check_file
from counterfoil.receiving import Promise, contract_of, contract_text
from counterfoil.receiving.answer import MARK
from counterfoil.rules.classify import classify

PROMISE = Promise(action="POST /orders", api_version="2026-11", window=timedelta(days=7))
PROMISES = [
    PROMISE,
    replace(PROMISE, errors="kept", mismatch=409, window=timedelta(seconds=90)),
    replace(PROMISE, header="X-Key", longest_key=64, counts="bytes", duplicate="costly", action='"quoted"\n é'),
]


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("date", [None, "2026-11-30"])
def test_the_file_says_what_the_promise_says(tmp_path: Path, promise: Promise, date: str | None) -> None:
    file = tmp_path / "orders.toml"
    file.write_text(contract_text(promise, date=date), "utf-8")
    assert read_contract(tomllib.loads(file.read_text("utf-8"))).stored() == contract_of(promise, date=date).stored()
    checked = check_file(str(file))
    assert (checked["gaps"], checked["contradictions"], checked["unread_fields"]) == ([], [], [])
    after_error = "look up" if promise.errors == "kept" else "repeat"
    assert checked["plan"] == [
        "lost reply: repeat",
        f"answer 500: {after_error}",
        "window over: repeat",
        "not found: repeat",
    ]


@pytest.mark.parametrize(
    ("status", "mark", "meaning"),
    [
        (201, "first", "applied"),
        (200, "replayed", "applied"),
        (404, "first", "refused"),
        (410, "replayed", "refused"),
        (400, "bad_key", "refused"),
        (422, "mismatch", "key_mismatch"),
        (409, "mismatch", "key_mismatch"),
        (409, "in_progress", "in_progress"),
        (410, "over", "ambiguous"),
        (500, "not_executed", "not_applied"),
        (503, "not_executed", "not_applied"),
        (500, "unknown", "ambiguous"),
        # Whoever stands in front, or answers before the kit is asked.
        (200, None, "ambiguous"),
        (409, None, "ambiguous"),
        (410, None, "ambiguous"),
        (502, None, "ambiguous"),
        (422, None, "refused"),
        (401, None, "not_applied"),
    ],
)
def test_each_answer_means_what_it_is(status: int, mark: str | None, meaning: str) -> None:
    headers = {} if mark is None else {MARK: mark}
    seen = Exchange("body", True, status, headers, b"{}")
    assert classify(contract_of(PROMISE), seen) == Meaning(meaning)


def test_an_error_that_is_kept_is_a_refusal_for_good() -> None:
    seen = Exchange("body", True, 500, {MARK: "replayed"}, b"{}")
    assert classify(contract_of(PROMISES[1]), seen) is Meaning.REFUSED
    assert classify(contract_of(PROMISE), seen) is Meaning.AMBIGUOUS


def test_a_file_of_ones_own_is_loaded_with_a_lookup_and_overrides(tmp_path: Path) -> None:
    file = tmp_path / "orders.toml"
    file.write_text(contract_text(PROMISE), "utf-8")

    async def find(ask: Any, payload: Any) -> Any: ...

    made: Contract = contract_in(file, find=find, overrides={"key.account_retention": timedelta(days=1)})
    assert made.lookup is not None and made.lookup.function is find
    assert made.key is not None and made.key.account_retention == timedelta(days=1)
    assert contract_in(str(file)).lookup is None
    (tmp_path / "torn.toml").write_text("[", "utf-8")
    (tmp_path / "odd.toml").write_text('api_version = ""\nclassifier = []\n', "utf-8")
    for name, code in (("no", "not_found"), ("torn", "contract_unreadable"), ("odd", "contract_contradiction")):
        with pytest.raises(Refused) as refused:
            contract_in(tmp_path / f"{name}.toml")
        assert refused.value.code == code
    assert check_file(str(tmp_path / "torn.toml"))["loads"] is False


@pytest.mark.timeout(120)  # a process of its own, which imports FastAPI
def test_the_kit_brings_words_and_nothing_else_of_ours() -> None:
    program = """
import json, sys
import counterfoil.receiving
without_web = list(sys.modules)
import counterfoil.receiving.web
print(json.dumps([without_web, list(sys.modules)]))
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    without_web, brought = json.loads(said.stdout)
    assert {name.split(".")[1] for name in brought if name.startswith("counterfoil.")} == {"model", "receiving"}
    assert not {"fastapi", "starlette", "apsw", "httpx2", "typer"} & set(without_web)
