"""The sandbox as an HTTP server: exchanges and the control address, over one receiver."""

import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from counterfoil.testing.loopback.exchange import Exchange, Reply, Request, error_reply
from counterfoil.testing.loopback.faults import LONGEST_HOLD_SECONDS, Faults
from counterfoil.testing.loopback.serving import LoopbackServer, serve_until_input_closes
from counterfoil.testing.loopback.traffic import Traffic
from counterfoil.testing.sandbox.clock import SandboxClock
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.receiver import EFFECT, TRANSPORT, Outcome, Receiver
from counterfoil.testing.sandbox.records import Records
from counterfoil.testing.sandbox.writes import Write, read_write

FAULTS = EFFECT | TRANSPORT
"""The names that `--fault` and the control address take."""


class Sandbox:
    """One receiver with its traffic, faults and control address; the server makes an exchange for each connection."""

    def __init__(self, contract: SandboxContract, records: Records, faults: Faults) -> None:
        self.contract = contract
        self.faults = faults
        self.traffic = Traffic()
        self.receiver = Receiver(contract, records, faults, SandboxClock())
        self.released = threading.Event()

    def exchange(self) -> type[Exchange]:
        """The handler class of this sandbox."""
        sandbox = self

        class SandboxExchange(Exchange):
            """One connection to the sandbox."""

            released = sandbox.released

            def receive(self, request: Request) -> None:
                sandbox.serve(self, request)

            def control(self, name: str, request: Request) -> Reply:
                return sandbox.control(name, request)

        return SandboxExchange

    def serve(self, exchange: Exchange, request: Request) -> None:
        """Answer a lookup or a write."""
        if not request.is_write:
            self.traffic.count("lookups")
            exchange.send(self.receiver.lookup(request))
            return
        n = self.traffic.count("requests")
        try:
            write = read_write(request, self.contract.key_header)
        except ValueError as reason:
            self.traffic.note({"n": n, "method": request.method, "path": request.path, "status": 400})
            self.traffic.count("decided")
            exchange.send(error_reply(400, "bad_request", str(reason)))
            return
        if write.key is None and write.reference is None:
            self.traffic.count("unledgered_writes")
        outcome = self.receiver.write(write)
        self._note(n, write, outcome)
        # The signal comes after the effect and before the reply: who waits for it can kill or freeze in between.
        self.traffic.count("decided")
        exchange.hold(outcome.fault)
        self.receiver.finish(outcome)
        exchange.deliver(outcome.reply, outcome.fault)

    def control(self, name: str, request: Request) -> Reply:
        """Answer `/_control/NAME`: LookupError for an unknown name, ValueError for a body that does not fit."""
        if request.method == "GET":
            shown: dict[str, Callable[[], object]] = {
                "": self._records,
                "records": self._records,
                "requests": self._requests,
            }
            return Reply(200, shown[name]())
        return Reply(200, _COMMANDS[name](self, request.json_object()))

    def _records(self) -> object:
        counts = {count: self.traffic.value(count) for count in ("requests", "unledgered_writes", "lookups")}
        return {"records": self.receiver.witness(), **counts, "faults": self.faults.names()}

    def _requests(self) -> object:
        return {"items": self.traffic.log()}

    def _note(self, n: int, write: Write, outcome: Outcome) -> None:
        self.traffic.note(
            {
                "n": n,
                "method": write.method,
                "path": write.path,
                "key": write.key,
                "reference": write.reference,
                "payload_digest": write.digest,
                "fault": None if outcome.fault is None else outcome.fault.name,
                "status": outcome.reply.status,
                "record_id": outcome.record_id,
                "replayed": outcome.replayed,
            }
        )

    def arm(self, body: dict[str, object]) -> object:
        """`POST fault {fault, count, seconds}`; `{"fault": null}` disarms everything."""
        arm_from(self.faults, body)
        return {"faults": self.faults.names()}

    def move_clock(self, body: dict[str, object]) -> object:
        """`POST clock {advance_seconds}`."""
        seconds = number(body, "advance_seconds", None)
        self.receiver.advance(seconds)
        return {"advanced_seconds": seconds}

    def forget_keys(self, body: dict[str, object]) -> object:
        """`POST forget-keys`: the key store is lost."""
        self.receiver.forget_keys()
        return {"keys": 0}

    def wait(self, body: dict[str, object]) -> object:
        """`POST wait {requests, seconds}`: until so many writes have been decided since the start."""
        return wait_for(self.traffic, "decided", body)

    def release(self, body: dict[str, object]) -> object:
        """`POST release`: replies that `slow` holds back go out now, and no later one is held."""
        self.released.set()
        return {"released": True}


_COMMANDS: dict[str, Callable[[Sandbox, dict[str, object]], object]] = {
    "fault": Sandbox.arm,
    "clock": Sandbox.move_clock,
    "forget-keys": Sandbox.forget_keys,
    "wait": Sandbox.wait,
    "release": Sandbox.release,
}


def serve(contract: SandboxContract, *, fault: str | None = None, port: int = 0, records: Path | None = None) -> None:
    """Serve a sandbox until standard input closes, after one JSON line {url, control_url, pid, records_file} on stdout.

    `records` keeps its lines from an earlier start; without it the file is temporary. `fault` is NAME or NAME:COUNT.
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
        server = LoopbackServer(Sandbox(contract, kept, faults).exchange(), port)
        serve_until_input_closes(server, {"records_file": str(records.resolve())})


def arm_from(faults: Faults, body: dict[str, object]) -> None:
    """Arm what `{fault, count, seconds}` says. ValueError when it does not fit."""
    name = body.get("fault")
    if name is None:
        faults.clear()
        return
    count = number(body, "count", 1)
    seconds = None if body.get("seconds") is None else number(body, "seconds", None)
    faults.arm(str(name), count=int(count), seconds=seconds)


def wait_for(traffic: Traffic, counter: str, body: dict[str, object]) -> object:
    """Wait as `{requests, seconds}` says; at most a minute."""
    wanted = int(number(body, "requests", None))
    seconds = min(number(body, "seconds", 30), LONGEST_HOLD_SECONDS)
    reached = traffic.wait_for(counter, wanted, seconds=seconds)
    return {"reached": reached, "requests": traffic.value(counter)}


def number(body: dict[str, object], name: str, default: float | None) -> float:
    """A number in a control body. ValueError when it is missing without a default, or not a number."""
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is a number, not {value!r}")
    return float(value)
