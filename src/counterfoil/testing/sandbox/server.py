"""The sandbox as an HTTP server: one receiver, its lookups and writes, and its control address."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from counterfoil.testing.loopback.exchange import Exchange, Reply, Request, error_reply
from counterfoil.testing.loopback.faults import Fault, Faults
from counterfoil.testing.loopback.serving import LoopbackServer, serve_until_input_closes
from counterfoil.testing.loopback.stand_in import QUEUED, Body, StandIn, number
from counterfoil.testing.loopback.traffic import Traffic
from counterfoil.testing.sandbox.clock import SandboxClock
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.receiver import EFFECT, TRANSPORT, Outcome, Receiver
from counterfoil.testing.sandbox.records import Records
from counterfoil.testing.sandbox.writes import Write, read_write, with_key

FAULTS = EFFECT | TRANSPORT | {QUEUED}
"""The names that `--fault` and the control address take."""


class Sandbox(StandIn):
    """One receiver behind HTTP."""

    def __init__(
        self, contract: SandboxContract, records: Records, faults: Faults, clock: SandboxClock | None = None
    ) -> None:
        super().__init__(faults)
        self._contract = contract
        self._receiver = Receiver(contract, records, faults, clock or SandboxClock())
        self._asked = Traffic()

    def serve(self, exchange: Exchange, request: Request) -> None:
        """Answer a lookup or a write."""
        if not request.is_write:
            hidden = self._receiver.hidden(request.path)
            reply = self.refused_read(request) or self._receiver.lookup(request)
            self._asked.note({"path": request.target, "status": reply.status, "hidden": hidden})
            self.traffic.count("lookups")
            exchange.send(_marked(reply))
            return
        n = self.traffic.count("requests")
        try:
            write = with_key(read_write(request, self._contract.key_header), request, self._contract)
        except ValueError as reason:
            self.traffic.note({"n": n, "method": request.method, "path": request.path, "status": 400})
            self.traffic.count("decided")
            exchange.send(error_reply(400, "bad_request", str(reason)))
            return
        if write.key is None and write.reference is None:
            self.traffic.count("unledgered_writes")
        queued = self.queue()
        outcome = self._receiver.write(write)
        self._note(n, write, outcome, outcome.fault or queued)
        # The signal comes after the effect and before the reply: who waits for it can kill or freeze in between.
        self.traffic.count("decided")
        exchange.hold(outcome.fault)
        self._receiver.finish(outcome)
        exchange.deliver(_marked(outcome.reply), outcome.fault)

    def state(self) -> Body:
        """The records that exist, whether a lookup shows them yet or not, and the counters."""
        return {"records": self._receiver.witness(), **self.counts("requests", "unledgered_writes", "lookups")}

    def views(self) -> Mapping[str, Callable[[], object]]:
        """Also `records`, and `lookups`: what was asked, and how many records each answer did not show yet."""
        return {**super().views(), "records": self.state, "lookups": lambda: self.asked({})}

    def commands(self) -> Mapping[str, Callable[[Body], object]]:
        """Also `clock`, `lookup-lag`, `forget-keys`, and `lookups` for those who can only order."""
        own = {"clock": self.move_clock, "lookup-lag": self.lag, "forget-keys": self.forget_keys, "lookups": self.asked}
        return {**super().commands(), **own}

    def move_clock(self, body: Body) -> object:
        """`POST clock {advance_seconds}`, or `{follow: FILE}` for a clock that is shared with those who send."""
        if "follow" in body:
            self._receiver.follow(Path(str(body["follow"])))
            return {"follows": body["follow"]}
        seconds = number(body, "advance_seconds")
        self._receiver.advance(seconds)
        return {"advanced_seconds": seconds}

    def asked(self, body: Body) -> object:
        """Every lookup: its path and query, its status, and how many records it did not show yet."""
        return {"items": self._asked.log()}

    def lag(self, body: Body) -> object:
        """`POST lookup-lag {seconds}`: lookups show a record only so long after it was made."""
        seconds = number(body, "seconds")
        self._receiver.lag(seconds)
        return {"seconds": seconds}

    def forget_keys(self, body: Body) -> object:
        """`POST forget-keys`: the key store is lost. `forgotten`: how many keys it held."""
        return {"keys": 0, "forgotten": self._receiver.forget_keys()}

    def _note(self, n: int, write: Write, outcome: Outcome, fault: Fault | None) -> None:
        self.traffic.note(
            {
                "n": n,
                "method": write.method,
                "path": write.path,
                "key": write.key,
                "reference": write.reference,
                "payload_digest": write.digest,
                "fault": None if fault is None else fault.name,
                "status": outcome.reply.status,
                "record_id": None if outcome.place is None else outcome.place.rpartition("/")[2],
                "replayed": outcome.replayed,
            }
        )


def _marked(reply: Reply) -> Reply:
    """With the word that a probe asks for: nothing here is real."""
    return replace(reply, headers={**reply.headers, "test-mode": "true"})


def serve(
    contract: SandboxContract,
    *,
    fault: str | None = None,
    port: int = 0,
    records: Path | None = None,
    clock: Path | None = None,
) -> None:
    """Serve a sandbox until standard input closes, after one JSON line {url, control_url, pid, records_file} on stdout.

    `records` keeps its lines from an earlier start; without it the file is temporary. `fault` is NAME or NAME:COUNT.
    `clock` is the file of a clock that is shared with those who send (`counterfoil.testing.clock`).
    ValueError for an unknown fault or a file that is not ours; OSError for a taken port or an unwritable file.
    """
    faults = Faults(FAULTS)
    if fault is not None:
        faults.arm_text(fault)
    with ExitStack() as stack:
        if records is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="counterfoil-sandbox-"))
            records = Path(folder) / "records.jsonl"
        kept = Records(records)
        stack.callback(kept.close)
        server = LoopbackServer(Sandbox(contract, kept, faults, SandboxClock(clock)), port)
        serve_until_input_closes(server, {"records_file": str(records.resolve())})
