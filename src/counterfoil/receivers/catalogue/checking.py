"""Whether an entry holds: it loads, contradicts nothing, its reviewed plan is what the rules say, and every attribute is read."""

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from counterfoil.model.contract import Contract, contradictions, gaps
from counterfoil.model.errors import Refused
from counterfoil.receivers.catalogue.entry import Entry, entry, read_file
from counterfoil.receivers.catalogue.plan import plan_of
from counterfoil.receivers.catalogue.reading import Misread, overridden

_RULES = {
    "api_version": "receivers.carriers:same_version",
    "classifier": "rules.classify:classify",
    "action": "rules.contract_sentences:plain_sentences",
    "procedure": "model.contract_checks:refusal_at_start",
    "duplicate": "model.contract_checks:refusal_at_start",
    "before_execution": "rules.classify:classify",
    "stages": "rules.classify:_staged",
    "completes_within": "rules.absence:absence_counts_from",
    "precondition": "rules.key_window:key_fact",
    "compensation": "rules.contract_sentences:_doubt",
    "counts_as": "model.contract_checks:_counts",
    "request_timeout": "rules.key_window:repeat_until",
    "receipts": "rules.deliveries:heard",
    "provenance.sources": "model.contract_checks:_provenance",
    "provenance.date": "model.contract_checks:_provenance",
    "provenance.confidence": "model.contract_checks:_provenance",
    "lookup.function": "engine.reconcile:question",
    "lookup.consistency": "rules.absence:absence_authorises",
    "lookup.visible_within": "rules.absence:hidden_for",
    "lookup.arrives_within": "rules.absence:hidden_for",
    "lookup.absence_authorises": "rules.absence:absence_authorises",
    "lookup.finds_by": "rules.evidence:judge_sightings",
    "lookup.pause": "rules.absence:ask_again_at",
    "key.format": "rules.key_window:key_of",
    "key.min_length": "model.contract_checks:_key",
    "key.max_length": "model.contract_checks:_key",
    "key.retention": "rules.key_window:_window",
    "key.account_retention": "rules.key_window:_window",
    "key.clock": "rules.key_window:_window_start",
    "key.margin": "rules.key_window:_margin",
    "key.after_window": "rules.key_window:window_over",
    "key.scope": "rules.key_window:scope_digest",
    "key.other_body": "rules.key_window:same_bytes",
    "key.saves": "rules.key_window:_says_no_more",
    "key.unsaved": "rules.key_window:_closed",
    "key.replay_marker": "rules.classify:replayed",
    "key.replay_body": "rules.classify:replayed",
    "key.in_progress": "rules.key_window:busy_until",
    "key.lock_timeout": "rules.key_window:_closed",
    "key.arrives_within": "rules.key_window:_late",
}
_PLACES = {
    f"{part}.{place}": "receivers.http:Sender._frozen"
    for part in ("key", "reference", "version")
    for place in ("header", "query", "body", "path")
}
READERS: Mapping[str, str] = _RULES | _PLACES
"""For each attribute, a function that reads it: `module:function` below `counterfoil`."""


def check_entry(id: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """{id, loads, plan, unread_fields, contradictions, gaps}. `overrides`: what an account knows better, by attribute."""
    try:
        found = entry(id)
    except Refused as problem:
        return _unread(id, problem)
    if not overrides:
        checked = check_contract(id, found.contract)
        return checked | {"contradictions": [*checked["contradictions"], *_reviewed(id, found)]}
    return _check_changed(id, found.contract, overrides)


def check_file(file: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The same for a file of your own. Raises Refused: not_found."""
    try:
        found = read_file(file)
    except Refused as problem:
        return _unread(file, problem)
    return _check_changed(file, found, overrides or {})


def _unread(id: str, problem: Refused) -> dict[str, Any]:
    if problem.code == "not_found":
        raise problem
    told: dict[str, Any] = {"id": id, "loads": False, "contradictions": [problem.message]}
    return told | {"plan": [], "unread_fields": [], "gaps": []}


def _check_changed(id: str, contract: Contract, overrides: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return check_contract(id, overridden(contract, overrides))
    except (Misread, TypeError, ValueError) as problem:
        raise Refused("usage", problem=str(problem)) from problem


def check_contract(id: str, contract: Contract) -> dict[str, Any]:
    """The same for any contract."""
    return {
        "id": id,
        "loads": True,
        "plan": [stage.step for stage in plan_of(contract)],
        "unread_fields": unread_fields(contract),
        "contradictions": contradictions(contract),
        "gaps": gaps(contract),
    }


def unread_fields(contract: Contract) -> list[str]:
    """The attributes that the contract gives and no rule reads: a fact that decides nothing would only look safe."""
    return [path for path in _given(contract.stored()) if not reads(READERS.get(path, ""), path.rpartition(".")[2])]


def reads(reader: str, name: str) -> bool:
    """Whether the function is there and names the attribute."""
    module, _, function = reader.partition(":")
    if not function:
        return False
    found: Any = import_module(f"counterfoil.{module}")
    for part in function.split("."):
        found = getattr(found, part, None)
    return found is not None and f".{name}" in inspect.getsource(found)


def _given(stored: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name, value in stored.items():
        if value is None or value == []:
            continue
        held = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        parts = [f"{name}.{inner}" for inner, given in held.items() if given is not None]
        found += parts or [name]
    return found


def _reviewed(id: str, found: Entry) -> list[str]:
    """Where the file and the rules disagree: one of them was changed without the other."""
    wrong: list[str] = []
    if found.id != id:
        wrong.append(f"the file {id}.toml says that it is {found.id}")
    plan = [stage.step for stage in plan_of(found.contract)]
    if list(found.plan) != plan:
        wrong.append(f"the reviewed plan is {list(found.plan)} and the rules say {plan}")
    if found.contract.provenance is None:
        wrong.append("there is no provenance")
    return wrong
