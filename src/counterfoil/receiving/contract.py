"""The contract that a promise is: what clients load, and `counterfoil receivers check` reads."""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields
from datetime import timedelta
from typing import Any, cast

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, Provenance, Rule, When
from counterfoil.receiving.answer import BAD_KEY, FIRST, IN_PROGRESS, MARK, MISMATCH, NOT_EXECUTED, REPLAYED
from counterfoil.receiving.promise import Promise

_SOURCE = "counterfoil.receiving"


def contract_of(promise: Promise, *, date: str | None = None) -> Contract:
    """The contract. `date` (such as 2026-11-30) says since when it is kept. The lookup's function is the client's.

    What a proxy in front answers carries no mark of ours, so it proves nothing; 422 without one is FastAPI's own refusal
    of a request's form, before anything was done.
    """
    saved = {"2xx", "4xx", "5xx"} if promise.errors == "kept" else {"2xx", "4xx"}
    rules = [
        When(header={MARK: MISMATCH}).means("key_mismatch"),
        When(header={MARK: IN_PROGRESS}).means("in_progress"),
        When(header={MARK: NOT_EXECUTED}).means("not_applied"),
        When(header={MARK: BAD_KEY}).means("refused"),
        *(When(status="2xx", header={MARK: mark}).means("applied") for mark in (FIRST, REPLAYED)),
        *(When(status="4xx", header={MARK: mark}).means("refused") for mark in (FIRST, REPLAYED)),
    ]
    if promise.errors == "kept":
        # What is kept under the key as an error was undone, so it says for good that nothing is there.
        rules += [When(status="5xx", header={MARK: mark}).means("refused") for mark in (FIRST, REPLAYED)]
    rules.append(When(status=422).means("refused"))
    return Contract(
        api_version=promise.api_version,
        action=promise.action,
        duplicate=promise.duplicate,
        stages="one",
        before_execution={401, 403},
        classifier=rules,
        key=IdempotencyKey(
            header=promise.header,
            retention=promise.window,
            clock="first_accepted",
            after_window="refuses",
            scope={"credential"},
            other_body="rejects",
            saves=saved,
            unsaved=None if promise.errors == "kept" else "resumes",
            replay_marker={MARK: REPLAYED},
            in_progress="status",
            min_length=1,
            max_length=promise.longest_key,
        ),
        lookup=Lookup("yours", consistency="strong", visible_within=timedelta(0), finds_by="key"),
        procedure=(
            f"Ask the service for the key: GET {promise.lookups}?key=... says whether it was answered, and with which reference. "
            f"Absent is true for now only: PUT {promise.lookups}?key=... refuses the key for good, or shows what it has done."
        ),
        provenance=None if date is None else Provenance(sources=[_SOURCE], date=date, confidence=_CONFIDENCE),
    )


_KEPT = (
    *("classifier", "before_execution", "stages", "key.retention", "key.clock", "key.after_window", "key.scope"),
    *("key.other_body", "key.saves", "key.replay_marker", "key.in_progress", "key.max_length"),
    *("lookup.consistency", "lookup.visible_within", "lookup.finds_by"),
)
_CONFIDENCE: Mapping[str, str] = dict.fromkeys(_KEPT, "documented")


def contract_text(promise: Promise, *, date: str | None = None) -> str:
    """The contract as a file that `counterfoil receivers check FILE` and `contract_in(FILE)` read: TOML."""
    head = [
        f"# {json.dumps(promise.action)}, written from its promise.",
        f"# The same request: method, path, query and {'JSON content' if promise.counts == 'json' else 'exact bytes'}.",
    ]
    return "\n".join([*head, *_lines(contract_of(promise, date=date), "")]) + "\n"


def _lines(part: Any, at: str) -> list[str]:
    given = {each.name: getattr(part, each.name) for each in fields(part) if each.name != "_"}
    given = {name: value for name, value in given.items() if value is not None and not callable(value)}
    # The client names its own function; "yours" stands for it in the file, and in no other place.
    if isinstance(part, Lookup):
        given.pop("function", None)
    inner = {name: given.pop(name) for name in ("key", "lookup", "provenance") if name in given}
    rules = given.pop("classifier", ())
    lines = [f"{name} = {_value(value)}" for name, value in given.items() if value not in ((), frozenset())]
    for rule in rules:
        lines += ["", "[[classifier]]", *_rule(rule)]
    for name, value in inner.items():
        lines += ["", f"[{at}{name}]", *_lines(value, f"{at}{name}.")]
    return lines


def _rule(rule: Rule) -> list[str]:
    said: dict[str, Any] = {"status": rule.status, "header": rule.header, "means": rule.meaning.value}
    return [f"{name} = {_value(value)}" for name, value in said.items() if value not in ("any", {})]


def _value(value: Any) -> str:
    if isinstance(value, timedelta):
        return json.dumps(_lasting(value))
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        return "{ " + ", ".join(f"{json.dumps(name)} = {_value(inner)}" for name, inner in held.items()) + " }"
    if isinstance(value, Set):
        return json.dumps(sorted(cast("Set[Any]", value), key=str))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return json.dumps(list(cast("Sequence[Any]", value)))
    return json.dumps(value, ensure_ascii=False)


def _lasting(time: timedelta) -> str:
    """In whole seconds: a window is promised a little shorter rather than longer."""
    for unit in ("day", "hour", "minute", "second"):
        count, rest = divmod(time, timedelta(**{f"{unit}s": 1}))
        if not rest and count:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{time // timedelta(seconds=1)} seconds"
