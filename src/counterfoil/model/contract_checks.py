"""What a contract may not say. Unsafe configuration is refused at start (design section 2, rule 22)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from counterfoil.model.contract_parts import Carrier, IdempotencyKey, Lookup, Meaning, Provenance, Rule, Version
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.model.contract import Contract

COUNTS = frozenset({"type", "reference", "credential", "created_after_first_send", "seen_twice"})
SCOPES = frozenset({"credential", "session", "region", "endpoint"})
CLASSES = frozenset({"2xx", "4xx", "5xx"})
_CONFIDENCE = frozenset({"documented", "inferred", "unknown"})
_CHOICES = {
    "duplicate": ("benign", "costly", "irreversible"),
    "stages": (None, "one", "asynchronous", "prepare_confirm"),
    "precondition": (None, "create_if_absent", "expected_version"),
    "key.clock": (None, "first_sent", "first_accepted", "completion", "close"),
    "key.other_body": (None, "rejects", "replays", "identity", "overwrites"),
    "key.after_window": (None, "acts_again", "refuses"),
    "key.unsaved": (None, "acts_again", "resumes"),
    "key.in_progress": (None, "status", "waits", "refuses", "both_may_fail"),
    "lookup.consistency": (None, "strong", "eventual"),
    "lookup.finds_by": (None, "operation_id", "key", "content"),
}
_NOT_NEGATIVE = ("key.margin", "key.arrives_within", "lookup.visible_within", "lookup.arrives_within", "lookup.pause")
_ABOVE_ZERO = ("key.retention", "key.account_retention", "key.lock_timeout", "request_timeout", "completes_within")
_ZERO = timedelta(0)

Clauses = list[tuple[bool, str]]  # whether something is wrong, and the clause that says so


def contradictions(contract: Contract) -> list[str]:
    """What is wrong with a contract, each as a clause. Empty: nothing."""
    found = _values(contract) + _classifier(contract) + _before_execution(contract) + _stages(contract)
    if contract.key is not None:
        found += _key(contract.key, {rule.meaning for rule in contract.classifier})
    if contract.lookup is not None:
        found += _lookup(contract.lookup)
    for name, carrier in (("reference", contract.reference), ("version", contract.version)):
        if carrier is not None:
            found += _carrier(name, carrier)
    found += _version(contract.version)
    found += _counts(contract)
    if contract.provenance is not None:
        found += _provenance(contract.provenance, contract)
    return [clause for wrong, clause in found if wrong]


def gaps(contract: Contract) -> list[str]:
    """What must be known before anything is sent, and is not. A gap contradicts nothing: the account fills it."""
    key = contract.key
    if key is None or contract.precondition is not None or (key.retention or key.account_retention) is not None:
        return []
    return ["the key has a window without a value: name its shortest retention"]


def refusal_at_start(name: str, contract: Contract, *, has_business_key: bool, repeatable: bool) -> Refused | None:
    """Why the operation `name` may not be started with this contract; None: it may."""
    wrong = contradictions(contract) + gaps(contract)
    if wrong:
        return Refused("contract_contradiction", name=name, problem="; ".join(wrong))
    nothing_known = contract.key is None and contract.lookup is None and contract.precondition is None
    if nothing_known and contract.procedure is None:
        return Refused("no_way_to_know", name=name)
    if contract.duplicate != "benign" and not has_business_key and not repeatable:
        return Refused("no_business_key", name=name, duplicate=contract.duplicate)
    return None


def _values(contract: Contract) -> Clauses:
    found: Clauses = [(not contract.api_version.strip(), "api_version is empty: a contract belongs to one")]
    for name in ("procedure", "compensation", "action"):
        text: str | None = getattr(contract, name)
        found.append((text is not None and not text.strip(), f"{name} is empty"))
    for path, known in _CHOICES.items():
        value = _value(path, contract)
        found.append((value not in known, f"{path} is {value!r}; known are {known}"))
    for path in _NOT_NEGATIVE + _ABOVE_ZERO:
        value = _value(path, contract)
        if isinstance(value, timedelta):
            below = value < _ZERO or (path in _ABOVE_ZERO and value == _ZERO)
            found.append((below, f"{path} is {value}"))
    for webhook in contract.receipts:
        named = webhook.operation or webhook.reference
        complete = webhook.type and webhook.type_path and named and webhook.dedupe
        lacks = "its type, the path to our operation id or to its reference, or the path to its own id"
        found.append((not complete, f"a webhook lacks {lacks}"))
        found.append((webhook.means not in ("happened", "later"), f"a webhook means {webhook.means!r}"))
    return found


def _classifier(contract: Contract) -> Clauses:
    rules = contract.classifier
    means = {rule.meaning for rule in rules}
    found: Clauses = [
        (Meaning.APPLIED not in means, "no rule of the classifier means applied"),
        (Meaning.KEY_MISMATCH in means and contract.key is None, "a rule means key_mismatch and there is no key"),
        (Meaning.KEY_POISONED in means and contract.key is None, "a rule means key_poisoned and there is no key"),
    ]
    for place, rule in enumerate(rules, 1):
        plain = not rule.header and not rule.body
        unread = plain and rule.status == "any" and place < len(rules)
        found.append((unread, f"rule {place} fits every answer, so the rules after it are never read"))
        refuses = plain and rule.meaning is Meaning.REFUSED and _takes(rule, 200)
        found.append((refuses, f"rule {place} means refused for every success"))
        applies = plain and rule.meaning is Meaning.APPLIED and _takes(rule, 500)
        found.append((applies, f"rule {place} means applied for every server error"))
    return found


def _takes(rule: Rule, status: int) -> bool:
    if isinstance(rule.status, str):
        return rule.status in ("any", f"{status // 100}xx")
    return status in rule.status


def _before_execution(contract: Contract) -> Clauses:
    found: Clauses = []
    for status in sorted(contract.before_execution, key=str):
        success = status == "2xx" if isinstance(status, str) else 200 <= status < 300
        found.append((success, f"before_execution holds {status}, which is a success"))
        unknown = isinstance(status, str) and status not in ("2xx", "3xx", "4xx", "5xx")
        found.append((unknown, f"before_execution holds {status!r}, neither a number nor a class such as '4xx'"))
    return found


def _stages(contract: Contract) -> Clauses:
    deaf = contract.lookup is None and not contract.receipts
    return [
        (
            contract.stages == "prepare_confirm" and contract.key is None,
            "stages is prepare_confirm and there is no key: the first stage's token identifies the second",
        ),
        (
            contract.stages == "asynchronous" and deaf,
            "stages is asynchronous and neither a lookup nor a webhook could show the end",
        ),
        (
            contract.completes_within is not None and contract.stages != "asynchronous",
            "completes_within is given and stages is not asynchronous: no answer leaves the receiver at work",
        ),
    ]


def _carrier(name: str, carrier: Carrier) -> Clauses:
    places = " and ".join(carrier.places) or "no place"
    return [(len(carrier.places) != 1, f"{name} travels in {places}: name exactly one of header, query, body and path")]


def _version(version: Version | None) -> Clauses:
    path = None if version is None else version.path
    return [
        (path is not None and "{}" not in path, f"version.path is {path!r} and has no {{}} where the version stands")
    ]


def _key(key: IdempotencyKey, means: set[Meaning]) -> Clauses:
    scope, saves = frozenset(key.scope or ()), frozenset(key.saves or ())
    return [
        *_carrier("key", key),
        (
            key.max_length is not None and key.format.length > key.max_length,
            f"key.format {key.format} makes {key.format.length} characters and key.max_length is {key.max_length}",
        ),
        (
            key.min_length is not None and key.format.length < key.min_length,
            f"key.format {key.format} makes {key.format.length} characters and key.min_length is {key.min_length}",
        ),
        (bool(scope - SCOPES), f"key.scope holds {sorted(scope - SCOPES)}; known are {sorted(SCOPES)}"),
        (bool(saves - CLASSES), f"key.saves holds {sorted(saves - CLASSES)}; known are {sorted(CLASSES)}"),
        (
            key.saves is not None and "2xx" not in saves,
            "key.saves leaves out 2xx: a key that does not keep a success protects nothing",
        ),
        (
            key.in_progress == "status" and Meaning.IN_PROGRESS not in means,
            "key.in_progress is status and no rule means in_progress",
        ),
        (
            Meaning.KEY_POISONED in means and key.saves is not None and not saves & {"4xx", "5xx"},
            "a rule means key_poisoned and key.saves holds no error",
        ),
        (
            Meaning.KEY_MISMATCH in means and key.other_body not in (None, "rejects"),
            f"a rule means key_mismatch and key.other_body is {key.other_body}",
        ),
        (
            key.replay_marker is not None and not key.replay_marker,
            "key.replay_marker is empty, so every answer would be a replay",
        ),
        (
            key.replay_body is not None and not key.replay_body,
            "key.replay_body is empty, so every answer would be a replay",
        ),
    ]


def _lookup(lookup: Lookup) -> Clauses:
    needed = ("consistency", "visible_within", "arrives_within")
    unknown = [name for name in needed if getattr(lookup, name) is None]
    return [
        (
            bool(lookup.absence_authorises and unknown),
            f"lookup.absence_authorises is claimed and unknown: {', '.join(unknown)}",
        )
    ]


def _counts(contract: Contract) -> Clauses:
    unknown = sorted(contract.counts_as - COUNTS)
    once = contract.lookup is None or contract.lookup.visible_within is None
    return [
        (bool(unknown), f"counts_as holds {unknown}; known are {sorted(COUNTS)}"),
        (
            "reference" in contract.counts_as and contract.reference is None,
            "counts_as compares our reference and the contract stamps none",
        ),
        (
            "seen_twice" in contract.counts_as and once,
            "counts_as wants a record seen twice and no lookup says how far apart (visible_within)",
        ),
    ]


def _provenance(provenance: Provenance, contract: Contract) -> Clauses:
    found: Clauses = [
        (not provenance.sources, "provenance names no source"),
        (not provenance.date, "provenance names no date: facts about receivers go stale"),
    ]
    for path, confidence in sorted(provenance.confidence.items()):
        known, there = confidence in _CONFIDENCE, _exists(path, contract)
        found.append((not known, f"provenance.confidence of {path} is {confidence!r}; known are {sorted(_CONFIDENCE)}"))
        found.append((not there, f"provenance.confidence names {path}, which the contract does not have"))
        # Unknown is a value: a claim that nobody stands behind may not loosen a ruling.
        claimed = there and confidence == "unknown" and _value(path, contract) is not None
        found.append((claimed, f"{path} is claimed and its provenance says unknown"))
    return found


def _exists(path: str, contract: Contract) -> bool:
    holder, _, name = path.rpartition(".")
    part = getattr(contract, holder, None) if holder else contract
    return part is not None and hasattr(part, name)


def _value(path: str, contract: Contract) -> object:
    """The value at `key.retention` and the like; None where the part is missing."""
    holder, _, name = path.rpartition(".")
    part = getattr(contract, holder) if holder else contract
    return None if part is None else getattr(part, name)
