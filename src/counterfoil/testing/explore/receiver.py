"""A receiver as a small pure state machine: what a request does to it, and what a lookup shows. It keeps its contract.

What a repeated key gets is asked of the sandbox's own `repeat_of`, so both receivers are one.
"""

from typing import NamedTuple

from counterfoil.testing.explore.alike import START
from counterfoil.testing.explore.kinds import LATE, MARKER, SECOND, Kind
from counterfoil.testing.sandbox.keys import KeyEntry, repeat_of


class Effect(NamedTuple):
    """One record of the receiver. `content` names the version of the payload that it holds."""

    identity: str
    content: str
    at: int


class Kept(NamedTuple):
    """One key. `status` is None while its first request runs; `effect` is its record's place, None without one."""

    identity: str
    content: str
    at: int
    status: int | None
    effect: int | None


class Request(NamedTuple):
    """One request that left our process, or will: its sender stands between its last check and the system call.

    `deadline` is the sender's own; `gone` is when its process ended. Both on the clock that counts sleep.
    """

    attempt: int
    process: str
    identity: str
    content: str
    deadline: int
    gone: int | None

    def arrives_until(self) -> int | None:
        """The last instant at which it can arrive; None: its sender lives and may be frozen for ever."""
        return None if self.gone is None else max(self.deadline, self.gone) + LATE * SECOND

    def promised_until(self) -> int:
        """The last instant that the contract allows a request whose sender kept its deadline."""
        return self.deadline + LATE * SECOND


class Reply(NamedTuple):
    """What comes back. `status` None: nothing came back. `reached` nothing: our own layer saw that no byte left."""

    status: int | None
    replayed: bool = False
    code: str | None = None
    reached: str = "body"


class Receiver(NamedTuple):
    """All of it: records, keys, requests under way, and requests at work."""

    effects: tuple[Effect, ...] = ()
    keys: tuple[Kept, ...] = ()
    wire: tuple[Request, ...] = ()
    working: tuple[Request, ...] = ()


LOST = Reply(None, reached="request")
UNSENT = Reply(None, reached="nothing")

MODES = ("ok", "error", "failed", "refuse", "slow")
"""accepted; accepted and answered 500; answered 500 with nothing done; refused for good; accepted and still at work."""


def arrive(kind: Kind, receiver: Receiver, request: Request, now: int, mode: str) -> tuple[Receiver, Reply] | None:
    """The receiver after a request, and its answer. None where this mode cannot happen: a repeat is not executed."""
    without = receiver._replace(wire=tuple(other for other in receiver.wire if other != request))
    if kind.once:
        known = next((e for e in receiver.effects if e.identity == request.identity), None)
        if known is not None:
            return (without, Reply(200, kind.receiver.replay_marker)) if mode == "ok" else None
        return _execute(kind, without, request, now, mode)
    if not kind.keyed:
        return _execute(kind, without, request, now, mode)
    kept = next((k for k in receiver.keys if k.identity == request.identity), None)
    entry = None if kept is None else KeyEntry(kept.content, kept.at / SECOND, kept.status, None, _place(kept))
    what = repeat_of(kind.receiver, entry, request.content, now / SECOND)
    if what == "execute":
        return _execute(kind, without, request, now, mode)
    if mode != "ok" or kept is None or what == "wait":
        return None
    return _repeated(kind, without, kept, what)


def _place(kept: Kept) -> str | None:
    return None if kept.effect is None else str(kept.effect)


def _repeated(kind: Kind, receiver: Receiver, kept: Kept, what: str) -> tuple[Receiver, Reply]:
    if what == "mismatch":
        return receiver, Reply(kind.receiver.mismatch_status, code="key_mismatch")
    if what == "busy":
        return receiver, Reply(kind.receiver.in_progress_status, code="in_progress")
    if what == "resume":
        return _keep(receiver, kept._replace(status=201)), Reply(200)
    if kept.effect is None or kind.receiver.replay == "stored":
        return receiver, Reply(kept.status, kind.receiver.replay_marker)
    if kind.receiver.replay == "conflicts":
        return receiver, Reply(409, code="already_exists")
    status = 202 if kind.receiver.replay == "acknowledges" else 200
    return receiver, Reply(status, kind.receiver.replay_marker)


def _execute(kind: Kind, receiver: Receiver, request: Request, now: int, mode: str) -> tuple[Receiver, Reply] | None:
    if mode == "slow":
        if not kind.keyed:
            return None  # the same as a request that arrives late
        working = receiver._replace(working=tuple(sorted((*receiver.working, request))))
        return _keep(working, Kept(request.identity, request.content, now, None, None)), LOST
    status = {"ok": 201, "error": 500, "failed": 500, "refuse": 402}[mode]
    return effected(kind, receiver, request, now, status, made=mode in ("ok", "error")), Reply(status)


def effected(kind: Kind, receiver: Receiver, request: Request, now: int, status: int, *, made: bool) -> Receiver:
    """The receiver after it carried a request out: its record, and what it keeps under the key."""
    place = None
    if made:
        place = len(receiver.effects)
        receiver = receiver._replace(effects=(*receiver.effects, Effect(request.identity, request.content, now)))
    if not kind.keyed or not (made or f"{status // 100}xx" in kind.receiver.saves):
        return receiver
    return _keep(receiver, Kept(request.identity, request.content, now, status, place))


def _keep(receiver: Receiver, kept: Kept) -> Receiver:
    others = [other for other in receiver.keys if other.identity != kept.identity]
    return receiver._replace(keys=tuple(sorted([*others, kept], key=lambda k: k.identity)))


def headers_of(kind: Kind, reply: Reply) -> dict[str, str]:
    """The headers of an answer."""
    return {MARKER: "true"} if reply.replayed and kind.receiver.replay_marker else {}


def shown(kind: Kind, receiver: Receiver, now: int, *, replica: bool) -> tuple[int, ...]:
    """The places of the records that a lookup shows now. `replica`: it asks one that lags twice as long."""
    lag = kind.lag_us * (2 if replica else 1)
    return tuple(place for place, effect in enumerate(receiver.effects) if effect.at + lag <= now)


def passed(kind: Kind, receiver: Receiver, by: int) -> Receiver:
    """The receiver after time has passed: its times lie further back, and what can matter no more is forgotten.

    A request that can arrive no more is gone, a key is forgotten after its window, and a record is shown from some time on.
    """
    window, shows = kind.receiver.key_window_seconds, kind.lag_us * 2
    effects = tuple(e._replace(at=0 if e.at - by + shows <= START else e.at - by) for e in receiver.effects)
    keys = tuple(k._replace(at=0 if window is None else k.at - by) for k in receiver.keys)
    if window is not None:
        keys = tuple(k for k in keys if k.at + int(window) * SECOND > START)
    wire = tuple(_later(r, by) for r in receiver.wire)
    wire = tuple(r for r in wire if (until := r.arrives_until()) is None or until >= START)
    return Receiver(effects, keys, wire, tuple(_later(r, by) for r in receiver.working))


def _later(request: Request, by: int) -> Request:
    return request._replace(deadline=request.deadline - by, gone=None if request.gone is None else request.gone - by)
