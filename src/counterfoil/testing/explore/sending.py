"""A worker's try: in flight, first byte, answer, end; and what it records of a lookup."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from counterfoil.engine.advance import Advanced
from counterfoil.engine.attempts import EndAttempt, MarkInFlight
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.sender import MARGIN_US, deadline_passed
from counterfoil.model.codec import compact
from counterfoil.model.contract import Meaning
from counterfoil.model.exchange import TOO_LATE, Exchange
from counterfoil.model.operation import AttemptRecord
from counterfoil.rules.classify import classify, replayed
from counterfoil.rules.key_window import key_of
from counterfoil.testing.explore.alike import START
from counterfoil.testing.explore.invariants import marked_rightly, sent_rightly
from counterfoil.testing.explore.kinds import SECOND, TIMEOUT
from counterfoil.testing.explore.receiver import LOST, UNSENT, Reply, Request, headers_of
from counterfoil.testing.explore.scene import DIGESTS, RUN_ID, Scene, View
from counterfoil.testing.explore.state import DRIVE, IDLE, MARKED, REPLIED, SENT, Move, State, Worker, said


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks of this host, as the engine reads them."""

    state: State

    def now_us(self) -> int:
        """The wall clock."""
        return START + self.state.offset

    def boot_us(self) -> int:
        """The clock that counts sleep."""
        return START


class Sending:
    """The moves of a worker between the ruling to send and the end of its attempt."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def begin(self, state: State, worker: Worker, view: View) -> Iterator[Move]:
        """Mark in flight, whatever has happened since the ruling."""
        assert view.operation is not None
        number, content = worker.data
        clocks, allowed = Clocks(state), TIMEOUT * SECOND + MARGIN_US
        boot, wall = clocks.boot_us() + allowed, clocks.now_us() + allowed
        target = self._scene.target(view.operation, jumped=worker.jumped)
        process, fence, digest = worker.process, worker.fence, DIGESTS[content]
        applied, after = self._scene.ask(
            state,
            ("mark", process, fence, content, wall, worker.jumped),
            lambda: MarkInFlight(RUN_ID, target, fence, process, "host", "boot", digest, wall),
            sends=True,
        )
        answer = applied.outcome.value
        if not isinstance(answer, AttemptRecord):
            case = answer.case.letter if isinstance(answer, Advanced) else None
            back, text = worker._replace(phase=DRIVE, data=()), "may not send: the table rules otherwise by now"
            yield said(after, back, text, case, refused=applied.outcome.error)
            return
        if answer.key_number != number:
            # The engine's own assertion stops the process here: the key on the wire is the key on record.
            yield said(after, worker._replace(phase=IDLE, jumped=False, data=()), "stops: another key is on record")
            return
        broken = marked_rightly(view, self._scene.view(after), answer, state.wall, jumped=worker.jumped)
        identity = key_of(self._scene.kind.contract, view.operation, number) or view.operation.operation_id
        marked = worker._replace(phase=MARKED, at="operation.in_flight", data=(answer.n, identity, content, boot, wall))
        text, case = f"records attempt {answer.n} in flight", self._scene.view(after).case
        yield said(after, marked, text, case, broken=broken)

    def first_byte(self, state: State, worker: Worker, view: View) -> Iterator[Move]:
        """The last check before the system call. From here on the request arrives at any time, or never."""
        n, identity, content, boot, wall = worker.data
        if deadline_passed(Clocks(state), boot, wall):  # pyright: ignore[reportArgumentType]
            over = worker._replace(phase=REPLIED, data=(n, UNSENT))
            yield said(state, over, f"finds the deadline of attempt {n} passed: no byte leaves")
            return
        request = Request(n, worker.process, identity, content, boot, None)
        receiver = state.receiver._replace(wire=tuple(sorted((*state.receiver.wire, request), key=lambda r: r.attempt)))
        sent = worker._replace(phase=SENT, at="operation.first_byte", data=(n,))
        broken = sent_rightly(view, n, content, late=boot <= START)
        yield said(state._replace(receiver=receiver), sent, f"begins to send attempt {n}", broken=broken)

    def give_up(self, state: State, worker: Worker, view: View) -> Iterator[Move]:
        """No answer came, whatever became of the request. Its sender has ended: it can be frozen before the system no more."""
        del view
        (n,) = worker.data
        wire = tuple(r._replace(gone=START) if r.attempt == n else r for r in state.receiver.wire)
        state = state._replace(receiver=state.receiver._replace(wire=wire))
        yield said(state, worker._replace(phase=REPLIED, data=(n, LOST)), f"hears no answer to attempt {n}")

    def end(self, state: State, worker: Worker, view: View) -> Iterator[Move]:
        """Record what came back."""
        assert view.operation is not None
        n, reply = worker.data
        exchange, meaning, receipt = self._understood(reply)
        target, fence = self._scene.target(view.operation, jumped=worker.jumped), worker.fence
        attempt = next(a for a in view.attempts if a.n == n)
        applied, after = self._scene.ask(
            state,
            ("end", n, fence, reply, worker.jumped),
            lambda: EndAttempt(RUN_ID, target, attempt.attempt_id, fence, exchange, meaning, receipt),
        )
        advanced: Advanced = applied.outcome.unwrap()
        worker = worker._replace(phase=DRIVE, at="operation.classified", data=())
        text = f"records the end of attempt {n}: {meaning.value.replace('_', ' ')}"
        yield said(after, worker, text, advanced.case.letter)

    def _understood(self, reply: Reply) -> tuple[Exchange, Meaning, dict[str, Any] | None]:
        """The exchange as our own layer records it, and what the contract's classifier says of it."""
        contract = self._scene.kind.contract
        if reply.reached == "nothing":
            exchange = Exchange("nothing", False, problem=TOO_LATE)
        elif reply.status is None:
            exchange = Exchange("request", True, problem="no answer")
        else:
            headers = headers_of(self._scene.kind, reply)
            body = {"error": {"code": reply.code or "internal"}} if reply.status >= 400 else {"id": "record-1"}
            again = replayed(contract, headers)
            exchange = Exchange("body", True, reply.status, headers, compact(body).encode(), replayed=again)
        meaning = classify(contract, exchange)
        return exchange, meaning, {"reference": "record-1"} if meaning is Meaning.APPLIED else None

    def record(self, state: State, worker: Worker, view: View) -> Iterator[Move]:
        """Record what a lookup showed."""
        assert view.operation is not None
        asked_at, attempts, seen, problem = worker.data
        found = [
            {"reference": f"record-{n}", "digest": DIGESTS[content], "receipt": {"reference": f"record-{n}"}}
            for n, content in enumerate(seen, 1)
        ]
        target = self._scene.target(view.operation, jumped=worker.jumped)
        applied, after = self._scene.ask(
            state,
            ("looked up", worker.data, worker.jumped),
            lambda: RecordLookup(RUN_ID, target, asked_at, attempts, found, problem is None, problem),
        )
        advanced: Advanced = applied.outcome.unwrap()
        worker = worker._replace(phase=DRIVE, at="operation.looked_up", data=())
        yield said(after, worker, "records what the receiver showed", advanced.case.letter)
