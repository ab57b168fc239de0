"""An entry as the command line, the console and the docs show it."""

from datetime import timedelta
from typing import Any, cast

from counterfoil.model.contract import Contract, gaps
from counterfoil.receivers.catalogue.entry import KINDS, Entry, unknown_fields
from counterfoil.receivers.catalogue.plan import plan_of
from counterfoil.rules.contract_sentences import lasting, plain_sentences

_EXACT = 2**53  # a larger number is no duration but `for ever`


def listed(entry: Entry) -> dict[str, Any]:
    """{id, name, kind, means, api_version, actions, key, window, lookup, first, confidence}.

    `key`: where it travels. `first`: what is done first when a reply is lost.
    """
    contract = entry.contract
    return {
        "id": entry.id,
        "name": entry.name,
        "kind": entry.kind,
        "means": KINDS[entry.kind],
        "api_version": contract.api_version,
        "actions": list(entry.actions),
        "key": None if contract.key is None else contract.key.places[0],
        "window": window_of(contract),
        "lookup": None if contract.lookup is None else contract.lookup.consistency or "unknown",
        "first": entry.plan[0].partition(": ")[2],
        "confidence": entry.confidence,
    }


def shown(entry: Entry) -> dict[str, Any]:
    """{id, action, api_version, kind, contract, plan, sentences, unknown_fields, sources} and what stands around them."""
    contract = entry.contract
    return {
        **listed(entry),
        "action": contract.action,
        "contract": _plain(contract.stored()),
        "plan": [
            {"moment": stage.moment, "case": stage.case, "ruling": stage.ruling, "sentence": stage.sentence}
            for stage in plan_of(contract)
        ],
        "sentences": plain_sentences(contract),
        "unknown_fields": unknown_fields(contract),
        "gaps": gaps(contract),
        "facts": dict(entry.facts),
        "not_verified": list(entry.not_verified),
        "sources": [] if contract.provenance is None else list(contract.provenance.sources),
        "date": None if contract.provenance is None else contract.provenance.date,
    }


def window_of(contract: Contract) -> str:
    """How long a repeat is harmless, in words."""
    if contract.precondition is not None:
        return "as long as it exists"
    if contract.key is None:
        return "never"
    kept = contract.key.account_retention or contract.key.retention
    return "unknown" if kept is None else "for ever" if kept == timedelta.max else lasting(kept)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return "for ever" if isinstance(value, int) and value > _EXACT else value
