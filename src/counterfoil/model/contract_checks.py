"""What a contract may not say. Unsafe configuration is refused at start (design section 2, rule 22)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from counterfoil.model.contract_parts import Carrier, IdempotencyKey, Lookup, Meaning, Provenance, Rule

if TYPE_CHECKING:
    from counterfoil.model.contract import Contract

COUNTS = frozenset({"type", "reference", "credential", "created_after_first_send", "seen_twice"})
SCOPES = frozenset({"credential", "session", "region", "endpoint"})
CLASSES = frozenset({"2xx", "4xx", "5xx"})
_CONFIDENCE = frozenset({"documented", "inferred", "unknown"})
_ZERO = timedelta(0)


def contradictions_of(contract: Contract) -> list[str]:
    """Every clause that is wrong, in the order of the contract's attributes."""
    wrong = _classifier(contract) + _stages(contract)
    if contract.key is not None:
        wrong += _key(contract.key, contract)
    if contract.lookup is not None:
        wrong += _lookup(contract.lookup)
    if contract.reference is not None:
        wrong += _carrier("reference", contract.reference)
    for webhook in contract.receipts:
        if not (webhook.type and webhook.operation and webhook.dedupe and webhook.type_path):
            wrong.append("a webhook names its type, the path to our operation id and its own id")
    wrong += _counts(contract)
    if contract.provenance is not None:
        wrong += _provenance(contract.provenance, contract)
    if contract.request_timeout <= _ZERO:
        wrong.append("request_timeout is not above zero")
    for name in ("procedure", "compensation"):
        text: str | None = getattr(contract, name)
        if text is not None and not text.strip():
            wrong.append(f"{name} is empty")
    if not contract.api_version.strip():
        wrong.append("api_version is empty: a contract belongs to an action at an API version")
    return wrong


def _fits_success(rule: Rule) -> bool:
    if isinstance(rule.status, str):
        return rule.status in ("any", "2xx")
    return any(200 <= status < 300 for status in rule.status)


def _classifier(contract: Contract) -> list[str]:
    wrong: list[str] = []
    rules = contract.classifier
    if not rules:
        wrong.append("the classifier has no rule, so no answer could ever mean anything")
    elif not any(rule.meaning is Meaning.APPLIED for rule in rules):
        wrong.append("no rule of the classifier means applied")
    if contract.key is None:
        for meaning in (Meaning.KEY_MISMATCH, Meaning.KEY_POISONED):
            if any(rule.meaning is meaning for rule in rules):
                wrong.append(f"a rule means {meaning} and there is no key")
    for place, rule in enumerate(rules[:-1]):
        if rule.status == "any" and not rule.header and not rule.body:
            wrong.append(f"rule {place + 1} fits every answer, so the rules after it are never read")
    for status in sorted(contract.before_execution, key=str):
        if status == "2xx" or (isinstance(status, int) and 200 <= status < 300):
            wrong.append(f"before_execution holds {status}, which is a success")
        elif isinstance(status, str) and status not in ("3xx", "4xx", "5xx"):
            wrong.append(f"before_execution holds {status!r}, which is neither a number nor a class such as '4xx'")
    for rule in rules:
        if rule.meaning is Meaning.REFUSED and not rule.body and not rule.header and rule.status in ("any", "2xx"):
            wrong.append("a rule means refused for every success")
    return wrong


def _stages(contract: Contract) -> list[str]:
    if contract.stages == "prepare_confirm" and contract.key is None:
        return ["stages is prepare_confirm and there is no key: the first stage's token is the identity of the second"]
    if contract.stages == "asynchronous" and contract.lookup is None and not contract.receipts:
        return ["stages is asynchronous and neither a lookup nor a webhook could show the end"]
    return []


def _carrier(name: str, carrier: Carrier) -> list[str]:
    places = carrier.places
    if len(places) == 1:
        return []
    return [f"{name} travels in {' and '.join(places) or 'no place'}: name exactly one of header, query and body"]


def _key(key: IdempotencyKey, contract: Contract) -> list[str]:
    wrong = _carrier("key", key)
    if key.retention is None and key.account_retention is None:
        wrong.append("the key has a window without a value: name its shortest retention")
    for name in ("retention", "account_retention", "lock_timeout"):
        value: timedelta | None = getattr(key, name)
        if value is not None and value <= _ZERO:
            wrong.append(f"key.{name} is not above zero")
    for name in ("margin", "arrives_within"):
        value = getattr(key, name)
        if value is not None and value < _ZERO:
            wrong.append(f"key.{name} is below zero")
    for name, known in (("scope", SCOPES), ("saves", CLASSES)):
        given: frozenset[str] = getattr(key, name) or frozenset()
        if given - known:
            wrong.append(f"key.{name} holds {sorted(given - known)}; known are {sorted(known)}")
    if key.saves is not None and "2xx" not in key.saves:
        wrong.append("key.saves leaves out 2xx: a key that does not keep a success protects nothing")
    means = {rule.meaning for rule in contract.classifier}
    if key.in_progress == "status" and Meaning.IN_PROGRESS not in means:
        wrong.append("key.in_progress is status and no rule means in_progress")
    if Meaning.KEY_POISONED in means and key.saves is not None and not key.saves & {"4xx", "5xx"}:
        wrong.append("a rule means key_poisoned and key.saves holds no error")
    if key.other_body in ("replays", "identity", "overwrites") and Meaning.KEY_MISMATCH in means:
        wrong.append(f"a rule means key_mismatch and key.other_body is {key.other_body}")
    if key.replay_marker is not None and not key.replay_marker:
        wrong.append("key.replay_marker is empty, so every answer would be a replay")
    return wrong


def _lookup(lookup: Lookup) -> list[str]:
    wrong: list[str] = []
    for name in ("visible_within", "arrives_within", "pause"):
        value: timedelta | None = getattr(lookup, name)
        if value is not None and value < _ZERO:
            wrong.append(f"lookup.{name} is below zero")
    if lookup.absence_authorises:
        unknown = [
            name for name in ("consistency", "visible_within", "arrives_within") if getattr(lookup, name) is None
        ]
        if unknown:
            wrong.append(f"lookup.absence_authorises is claimed and {' and '.join(unknown)} is unknown")
    return wrong


def _counts(contract: Contract) -> list[str]:
    wrong = [f"counts_as holds {name!r}; known are {sorted(COUNTS)}" for name in sorted(contract.counts_as - COUNTS)]
    if "reference" in contract.counts_as and contract.reference is None:
        wrong.append("counts_as compares our reference and the contract stamps none")
    if "seen_twice" in contract.counts_as and (contract.lookup is None or contract.lookup.visible_within is None):
        wrong.append("counts_as wants to see a record twice and no lookup names visible_within")
    return wrong


def _provenance(provenance: Provenance, contract: Contract) -> list[str]:
    wrong: list[str] = []
    if not provenance.sources:
        wrong.append("provenance names no source")
    elif not provenance.date:
        wrong.append("provenance names no date: facts about receivers go stale")
    for path, confidence in sorted(provenance.confidence.items()):
        if confidence not in _CONFIDENCE:
            wrong.append(f"provenance.confidence of {path} is {confidence!r}; known are {sorted(_CONFIDENCE)}")
        elif not _exists(path, contract):
            wrong.append(f"provenance.confidence names {path}, which the contract does not have")
        elif confidence == "unknown" and _value(path, contract) is not None:
            # Unknown is a value: a claim that nobody stands behind may not loosen a ruling.
            wrong.append(f"{path} is claimed and its provenance says unknown")
    return wrong


def _exists(path: str, contract: Contract) -> bool:
    holder, _, name = path.rpartition(".")
    part = getattr(contract, holder, None) if holder else contract
    return part is not None and hasattr(part, name)


def _value(path: str, contract: Contract) -> object:
    holder, _, name = path.rpartition(".")
    return getattr(getattr(contract, holder) if holder else contract, name)
