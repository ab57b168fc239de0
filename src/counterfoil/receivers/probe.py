"""A probe of a test-mode receiver: what it really does with a repeat, beside what its contract says."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

from counterfoil.model.contract import Contract
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import Exchange
from counterfoil.model.ids import derived, encode_key
from counterfoil.receivers.http import AttemptOver, LookupUnreachable, Reader, Sender
from counterfoil.rules.classify import replayed

_LOOKS = 20  # how often a lookup is asked before the probe gives up


class _NoGate:
    """A probe is nobody's operation: nothing is in flight, and nothing is kept."""

    async def before_send(self, request_digest: str) -> None: ...

    def first_byte(self) -> None: ...

    def replied(self, exchange: Exchange) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where and what is written. `changes`: the field that is changed for other parameters. `reference`: the path to a record's id.

    `marker`: (header, value) that the receiver itself gives in test mode. `lookup`: a path with `{reference}` in it, or `{key}`.
    `chance` gives a new text each time, `pause` waits for so many seconds.
    """

    url: str
    path: str
    body: Mapping[str, Any]
    changes: str
    marker: tuple[str, str]
    chance: Callable[[], str]
    pause: Callable[[float], Awaitable[object]]
    reference: str = "id"
    lookup: str | None = None
    wait: timedelta = timedelta(seconds=2)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class _Answer:
    exchange: Exchange
    reference: str | None
    content: Any

    @property
    def made(self) -> bool:
        return self.reference is not None and (self.exchange.status or 500) < 300


async def probe(contract: Contract, plan: Plan) -> dict[str, Any]:
    """{observed, declared, differences:[{attribute, declared, observed, sentence}], records}.

    Raises Refused(probe_not_test_mode) before any write where the receiver does not give its marker.
    """
    await _refuse_live(plan)
    observed: dict[str, Any] = {}
    first_key = _key(plan)
    first = await _write(contract, plan, first_key, {})
    if not first.made:
        raise Refused(
            "usage", problem=f"the first write was answered {first.exchange.status}, and shows no {plan.reference}"
        )
    records = {first.reference}
    again = await _write(contract, plan, first_key, {})
    observed["same_key"] = _same(first, again)
    observed["marked"] = replayed(contract, again.exchange.headers, again.exchange.body)
    other = await _write(contract, plan, first_key, {plan.changes: "other"})
    observed["other_body"] = _other(first, other, plan.changes)
    pair = await asyncio.gather(*(_pair(contract, plan)))
    observed["concurrent"] = _together(pair)
    await plan.pause(plan.wait.total_seconds())
    late = await _write(contract, plan, first_key, {})
    observed["after_wait"] = _same(first, late)
    observed["visible_after_seconds"] = None if plan.lookup is None else await _lag(contract, plan)
    records |= {answer.reference for answer in (again, other, late, *pair) if answer.made}
    declared = _declared(contract, plan)
    differences = [each for each in _compared(plan, observed, declared) if each is not None]
    return {"observed": observed, "declared": declared, "differences": differences, "records": len(records)}


def _pair(contract: Contract, plan: Plan) -> Any:
    key = _key(plan)
    return _write(contract, plan, key, {}), _write(contract, plan, key, {})


def _key(plan: Plan) -> str:
    return derived("op", "probe", plan.chance())


async def _refuse_live(plan: Plan) -> None:
    """The receiver's own word, asked for by a read: who mistypes an address must not write into a real account."""
    name, value = plan.marker
    reader = Reader(url=plan.url, headers=plan.headers, timeout_s=10)
    try:
        seen = (await reader.get(plan.path)).headers.get(name.lower())
    except LookupUnreachable as problem:
        raise Refused("probe_not_test_mode", marker=f"{name}: {value}", seen=f"nothing ({problem})") from problem
    if seen is None or seen.strip().lower() != value.lower():
        raise Refused("probe_not_test_mode", marker=f"{name}: {value}", seen=seen or "nothing")


async def _write(contract: Contract, plan: Plan, operation: str, changed: Mapping[str, Any], **more: Any) -> _Answer:
    key = None if contract.key is None else encode_key(operation, 0, contract.key.format)
    sender = Sender(
        url=plan.url,
        headers=plan.headers,
        key=key,
        operation_id=operation,
        contract=contract,
        gate=_NoGate(),
        timeout_s=contract.request_timeout.total_seconds(),
    )
    with contextlib.suppress(AttemptOver):
        await sender.post(plan.path, json={**plan.body, **changed}, **more)
    exchange = sender.exchange or Exchange("nothing", False)
    try:
        content = json.loads(exchange.body)
    except ValueError:
        content = None
    return _Answer(exchange, _reference(content, plan.reference), content)


def _reference(content: Any, path: str) -> str | None:
    for name in path.split("."):
        content = cast("dict[str, Any]", content).get(name) if isinstance(content, dict) else None
    return None if content is None else str(content)


def _same(first: _Answer, again: _Answer) -> str:
    if not again.made:
        return f"answers {again.exchange.status}"
    return "one effect" if again.reference == first.reference else "second effect"


def _other(first: _Answer, other: _Answer, name: str) -> str:
    if not other.made:
        return "rejects"
    if other.reference != first.reference:
        return "identity"
    shown: object = cast("object", other.content)
    fields = cast("dict[str, Any]", shown) if isinstance(shown, dict) else {}
    return "overwrites" if fields.get(name) == "other" else "replays"


def _together(pair: list[_Answer]) -> str:
    made = {answer.reference for answer in pair if answer.made}
    if len(made) == 2:
        return "second effect"
    if not made:
        return "both fail"
    return "one effect" if all(answer.made for answer in pair) else "one is refused"


async def _lag(contract: Contract, plan: Plan) -> float | None:
    """Seconds until a record shows in a lookup; None: it did not."""
    operation, clock = _key(plan), asyncio.get_running_loop()
    made = await _write(contract, plan, operation, {}, headers={"Counterfoil-Operation": operation})
    began, reader = clock.time(), Reader(url=plan.url, headers=plan.headers, timeout_s=10)
    key = "" if contract.key is None else encode_key(operation, 0, contract.key.format)
    path = (plan.lookup or "").replace("{reference}", operation).replace("{key}", key)
    for _ in range(_LOOKS):
        reply = await reader.get(path)
        if made.reference is not None and json.dumps(made.reference) in reply.text:
            return round(clock.time() - began, 3)
        await plan.pause(0.25)
    return None


def _declared(contract: Contract, plan: Plan) -> dict[str, Any]:
    key, lookup = contract.key, contract.lookup
    kept = None if key is None else key.account_retention or key.retention
    inside = kept is not None and kept > plan.wait
    always = contract.precondition is not None
    visible = None if lookup is None else lookup.visible_within
    return {
        "same_key": "one effect" if always or kept is not None else "second effect" if key is None else None,
        "marked": None if key is None or (key.replay_marker is None and key.replay_body is None) else True,
        "other_body": None if key is None else key.other_body,
        "concurrent": "one effect" if always or kept is not None else None,
        "after_wait": "one effect" if always or inside else None,
        "visible_after_seconds": None if visible is None else visible.total_seconds(),
    }


_ATTRIBUTES = {
    "same_key": ("key", "The same key twice: {observed}."),
    "marked": ("key.replay_marker", "A repeat does not carry the marker, so nothing shows that it was one."),
    "other_body": ("key.other_body", "The same key with other parameters: {observed}."),
    "concurrent": ("key.in_progress", "Two at once under one key: {observed}."),
    "after_wait": ("key.retention", "The same key a little later: {observed}. Its window is shorter than declared."),
    "visible_after_seconds": ("lookup.visible_within", "A record showed after {observed} seconds."),
}


def _compared(plan: Plan, observed: Mapping[str, Any], declared: Mapping[str, Any]) -> list[dict[str, Any] | None]:
    """What is declared and seen to be otherwise. What nobody claims cannot be wrong."""
    return [_difference(plan, name, observed[name], declared[name]) for name in _ATTRIBUTES]


def _difference(plan: Plan, name: str, observed: Any, declared: Any) -> dict[str, Any] | None:
    if declared is None or observed == declared:
        return None
    if name == "visible_after_seconds":
        # What never showed is a difference too. A quarter of a second is how exactly the probe looks.
        if plan.lookup is None or (observed is not None and observed <= declared + 0.25):
            return None
    elif declared == "one effect" and observed not in ("second effect", "both fail"):
        return None  # a refusal or a conflict makes no second record; the classifier says what it means
    attribute, sentence = _ATTRIBUTES[name]
    return {
        "attribute": attribute,
        "declared": declared,
        "observed": observed,
        "sentence": sentence.format(observed=observed),
    }
