"""Receivers of the user's own, in their test mode: drilled through our lossy proxy, counted by the user's adapter.

    class Payments:                                   # drills.py beside the application
        url = "https://api.payments.example"

        def records(self, reference: str | None) -> list[dict[str, Any]]:
            found = client.list(operation=reference) if reference else client.list()
            return [{"id": each.id, "reference": each.operation, "payload": {...}} for each in found]

`counterfoil drill shop:refund --receiver drills:Payments` then drills against it.
"""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, cast, runtime_checkable

from counterfoil.app.application import App
from counterfoil.drills.outside import Outside, Sandboxes
from counterfoil.drills.scenario import Scenario
from counterfoil.model.errors import Refused
from counterfoil.testing.loopback.digest import digest_of
from counterfoil.testing.loopback.process import LoopbackFailed
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.sandbox.writes import DEFAULT_KEY_HEADER

# What a fault asks of a receiver beyond its address: fault -> (method of the adapter, what is said where it has none).
NEEDS: Mapping[str, tuple[str, str]] = {
    "key-store-lost": ("forget_keys", "cannot be told to lose its idempotency keys"),
    "lookup-lags": ("lag", "cannot be told to let its lookups lag"),
    "key-window-over": ("advance", "has a clock that cannot be moved, so its key window cannot end"),
}
# What is asked of a stand-in by name -> the adapter's method and the argument's name in the body.
COMMANDS: Mapping[str, tuple[str, str | None]] = {
    "forget-keys": ("forget_keys", None),
    "lookup-lag": ("lag", "seconds"),
    "clock": ("advance", "advance_seconds"),
}
BY_ADAPTER = "Records are those of the adapter, by reference and by what came into being while the case played."
BY_PROXY = (
    "Nobody counts the receiver's records: counted are the writes that the proxy forwarded and the receiver accepted, "
    "told apart by the id in the answer, else by their key."
)

Record = dict[str, Any]


@runtime_checkable
class DrillReceiver(Protocol):
    """What an adapter must have. `url`: where the receiver is, in its test mode.

    It may also have: `receiver`, the name it stands for in an application with several; `environ`, settings of the
    processes that are drilled, such as its test key; `prepare(input)`, which gives the input of the next case (JSON), after
    making there what it needs; `forget_keys()`, `lag(seconds)` for its lookups, `advance(seconds)` for its clock; `close()`.
    A fault that needs one that is missing is not applicable.
    """

    @property
    def url(self) -> str:
        """http or https."""
        ...

    def records(self, reference: str | None) -> Sequence[Mapping[str, Any]]:
        """What the receiver holds, by its own account: {id, reference, payload | payload_digest, at}.

        With a reference (the operation's id, as the operation sends it): everything that carries it. With None:
        everything, or at least the newest that one case can have made. `payload` is in the form that was approved;
        without it and its digest nothing is said about the content. Nobody else may write while a drill runs.
        """
        ...


class Forwarded:
    """Any HTTP receiver, with nobody who counts there."""

    def __init__(self, url: str) -> None:
        self.url = url


class OwnReceiver:
    """The lossy proxy before one receiver of the user's, from construction until `close`; cases use it one after another.

    LoopbackFailed for an address that is no http address.
    """

    def __init__(self, adapter: DrillReceiver | Forwarded, *, key_header: str | None = None) -> None:
        self.adapter = adapter
        self.proxy = ProxyProcess(adapter.url, key_header=key_header or DEFAULT_KEY_HEADER)

    @property
    def counted(self) -> str:
        """What the report says about how records are counted here."""
        return BY_ADAPTER if isinstance(self.adapter, DrillReceiver) else BY_PROXY

    def part(self) -> "OwnPart":
        """The next case's view: what was there before is not its."""
        return OwnPart(self)

    def prepared(self, given: Any) -> Any:
        """The input of the next case."""
        prepare = getattr(self.adapter, "prepare", None)
        return given if prepare is None or given is None else prepare(given)

    def lacks(self, fault: str) -> str | None:
        """Why a fault is not applicable here; None where it is."""
        method, said = NEEDS.get(fault, (None, ""))
        if method is None or callable(getattr(self.adapter, method, None)):
            return None
        return f"This receiver {said}."

    def close(self) -> None:
        """End the proxy, and the adapter where it has an end."""
        self.proxy.close()
        close = getattr(self.adapter, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class OwnPart:
    """A receiver of the user's as one case sees it (outside.py)."""

    asks_credential = True

    def __init__(self, own: OwnReceiver) -> None:
        self._own = own
        self._from = max((each["n"] for each in _log(own)), default=0)
        adapter = own.adapter
        self._before = (
            {_id(each) for each in adapter.records(None)} if isinstance(adapter, DrillReceiver) else set[str]()
        )

    @property
    def url(self) -> str:
        """The proxy's address."""
        return self._own.proxy.url

    def records(self) -> list[Record]:
        """By the adapter, or by what the proxy forwarded."""
        adapter = self._own.adapter
        if not isinstance(adapter, DrillReceiver):
            return accepted(self.writes())
        found = {_id(each): each for each in adapter.records(None)}
        for reference in dict.fromkeys(write["reference"] for write in self.writes() if write["reference"]):
            found |= {_id(each): each for each in adapter.records(str(reference))}
        return [_record(each) for id_, each in found.items() if id_ not in self._before]

    def writes(self) -> list[Record]:
        """From the proxy's log: what it forwarded since the case began."""
        return [each for each in _log(self._own) if each["forwarded"] and each["n"] > self._from]

    def fault(self, name: str, *, count: int = 1, seconds: float | None = None, **more: Any) -> None:
        """Armed at the proxy."""
        self._own.proxy.fault(name, count=count, seconds=seconds, **more)

    def post(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """wait and release at the proxy; the rest by the adapter, nothing where it cannot."""
        if name not in COMMANDS:
            return self._own.proxy.post(name, dict(body or {}))
        method, argument = COMMANDS[name]
        ask = getattr(self._own.adapter, method, None)
        if ask is not None and (argument is None or argument in (body or {})):
            ask(*([] if argument is None else [(body or {})[argument]]))
        return {}

    def quiet(self) -> None:
        """Disarm, and let go of what is held."""
        self._own.proxy.post("fault", {"fault": None})
        self._own.proxy.release()

    def begin(self, clock: Path) -> None:
        """Nothing of the case before is left armed. Its clock is its own."""
        self.quiet()


class OwnReceivers:
    """The receivers of every case (outside.py): one of the user's, and sandboxes for the others.

    One player only: what came into being while a case played must be of that case.
    """

    def __init__(self, own: OwnReceiver, name: str) -> None:
        self._own, self._name = own, name
        self._others = Sandboxes()
        self.counted = own.counted

    def of(self, scenario: Scenario, part: str) -> Mapping[str, Outside]:
        """By receiver."""
        others = {name: kind for name, kind in scenario.sandboxes.items() if name != self._name}
        return {**self._others.of(replace(scenario, sandboxes=others), part), self._name: self._own.part()}

    def prepared(self, scenario: Scenario) -> Scenario:
        """The scenario of the next case."""
        given = self._own.prepared(scenario.input), self._own.prepared(scenario.other_input)
        environ = {**scenario.environ, **getattr(self._own.adapter, "environ", {})}
        return replace(scenario, input=given[0], other_input=given[1], environ=environ)

    def lacks(self, fault: str) -> str | None:
        """Why a fault is not applicable; None where it is."""
        return self._own.lacks(fault)

    def close(self) -> None:
        """End what was started."""
        self._own.close()
        self._others.close()


def own_receivers(app: App, *, adapter: str | None = None, url: str | None = None) -> Callable[[], OwnReceivers]:
    """What `--receiver MODULE:ADAPTER` and `--receiver-url URL` mean for an application. Raises Refused(usage)."""
    if (adapter is None) == (url is None):
        raise Refused("usage", problem="name one of --receiver MODULE:ADAPTER and --receiver-url URL")
    found = adapter_of(adapter) if adapter is not None else Forwarded(str(url))
    name = stands_for(found, sorted(app.registry.receivers))
    headers = {o.contract.key.header for o in app.registry.operations.values() if o.receiver == name and o.contract.key}
    header = next((each for each in sorted(filter(None, headers))), None)

    def made() -> OwnReceivers:
        try:
            return OwnReceivers(OwnReceiver(found, key_header=header), name)
        except LoopbackFailed as problem:
            raise Refused("usage", problem=str(problem)) from problem

    return made


def accepted(writes: Sequence[Mapping[str, Any]]) -> list[Record]:
    """The records that forwarded writes must have made: one for each id, or key, of an accepted first answer."""
    found: dict[object, Record] = {}
    for write in writes:
        if 200 <= write["status"] < 300 and not write["replayed"]:
            name = write["record_id"] or write["key"] or f"write-{write['n']}"
            found.setdefault((write["path"], name), {**write, "id": str(name), "at": None})
    return list(found.values())


def adapter_of(text: str) -> DrillReceiver:
    """MODULE:ADAPTER, a class or an instance. Raises Refused(usage)."""
    module, _, name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = getattr(importlib.import_module(module), name)
        made: Any = found() if isinstance(found, type) else found
    except Exception as problem:
        raise Refused("usage", problem=f"--receiver {text}: {type(problem).__name__}: {problem}") from problem
    if not isinstance(made, DrillReceiver):
        raise Refused("usage", problem=f"--receiver {text}: an adapter has `url` and `records(reference)`")
    return made


def stands_for(adapter: DrillReceiver | Forwarded, known: Sequence[str]) -> str:
    """The application's receiver in whose place it stands. Raises Refused(usage) where that is not clear."""
    named = getattr(adapter, "receiver", None)
    if named in known:
        return cast("str", named)
    if named is not None:
        raise Refused("usage", problem=f"the adapter's receiver is {named!r}; the application has {', '.join(known)}")
    if len(known) != 1:
        raise Refused(
            "usage", problem=f"the application has the receivers {', '.join(known)}: an adapter says `receiver = NAME`"
        )
    return known[0]


def _log(own: OwnReceiver) -> list[Record]:
    return cast("list[Record]", own.proxy.requests())


def _id(record: Mapping[str, Any]) -> str:
    return str(record["id"])


def _record(told: Mapping[str, Any]) -> Record:
    """As a stand-in would show it."""
    made = {"key": None, "at": None, "reference": None, "payload_digest": None, **told, "id": _id(told)}
    if made["payload_digest"] is None and "payload" in told:
        made["payload_digest"] = digest_of(told["payload"])
    return made
