"""Receivers that speak HTTP, as drills start them: a real server behind our proxy, or our sandbox in the receiver's words."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from counterfoil.drills.derived import sandbox_of
from counterfoil.model.contract import Contract
from counterfoil.testing.loopback.controlled import Controlled
from counterfoil.testing.loopback.digest import as_object
from counterfoil.testing.loopback.exchange import CONTROL, Exchange, Reply, Request
from counterfoil.testing.loopback.faults import Fault, Faults
from counterfoil.testing.loopback.serving import LoopbackServer
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.records import Records
from counterfoil.testing.sandbox.server import FAULTS, Sandbox

PLANTED = "sk_test_planted_secret"  # a credential that must stand in no file
HIDDEN_SECONDS = 365 * 86_400.0  # longer than any drill lasts


class OverHttp:
    """What the cases of drilling.py ask of a receiver that is reached over HTTP."""

    def __init__(self, stand_in: Controlled) -> None:
        self.stand_in = stand_in
        self.url = stand_in.url
        self._before = 0

    def arm(self, fault: str) -> None:
        """For the next write."""
        self.stand_in.fault(fault)

    def disarm(self) -> None:
        """What the case before left armed is gone."""
        self.stand_in.post("fault", {"fault": None})
        self.stand_in.post("blind", {"on": False})

    def blind(self) -> None:
        """Nobody can be asked: every read is answered with 503."""
        self.stand_in.post("blind", {"on": True})

    def queue(self) -> None:
        """The next write arrives whole, and stays on its way until `release`."""
        self._before = int(str(self.stand_in.get("")["requests"]))
        self.stand_in.fault("queued")

    def wait_queued(self) -> None:
        """Until it is on its way."""
        self.stand_in.wait_arrived(self._before + 1)

    def release(self) -> None:
        """It lands."""
        self.stand_in.release()
        self.stand_in.wait(requests=self._before + 1)

    def close(self) -> None:
        """End the process."""
        close = getattr(self.stand_in, "close", None)
        if close is not None:
            close()


class Dialect(Protocol):
    """A receiver's addresses and bodies, over what the sandbox understands: JSON objects at paths, and pages of them."""

    def asked(self, request: Request) -> Request | Reply:
        """The request as the sandbox takes it; or the answer, where the receiver would not come to its store."""
        ...

    def told(self, request: Request, reply: Reply) -> Reply:
        """The sandbox's answer as the receiver would give it. `request`: as it came."""
        ...


class Plain:
    """Nothing to translate."""

    def asked(self, request: Request) -> Request | Reply:
        """As it is."""
        return request

    def told(self, request: Request, reply: Reply) -> Reply:
        """As it is."""
        del request
        return reply


class Spoken(Sandbox):
    """The sandbox behind a dialect."""

    def __init__(self, contract: SandboxContract, records: Records, dialect: Dialect) -> None:
        super().__init__(contract, records, Faults(FAULTS))
        self._dialect = dialect

    def serve(self, exchange: Exchange, request: Request) -> None:
        """Answer a lookup or a write."""
        asked = self._dialect.asked(request)
        if isinstance(asked, Reply):
            if request.is_write:
                self.traffic.count("requests", "decided")
            exchange.send(asked)
            return
        super().serve(Told(exchange, self._dialect, request), asked)  # pyright: ignore[reportArgumentType] - as an Exchange


class Told:
    """An exchange whose replies are translated on their way out."""

    def __init__(self, exchange: Exchange, dialect: Dialect, request: Request) -> None:
        self._exchange, self._dialect, self._request = exchange, dialect, request
        self.hold = exchange.hold

    def send(self, reply: Reply) -> None:
        """As `Exchange.send`."""
        self._exchange.send(self._dialect.told(self._request, reply))

    def deliver(self, reply: Reply, fault: Fault | None) -> None:
        """As `Exchange.deliver`."""
        self._exchange.deliver(self._dialect.told(self._request, reply), fault)


class SandboxHere(Controlled):
    """A sandbox in a thread of this process, for the workers that are children of it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._server = LoopbackServer(sandbox, 0)
        self.url = self._server.url
        self.control_url = self.url + CONTROL
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class SandboxServed(OverHttp):
    """The sandbox that keeps a contract of the catalogue. `kept`: what the contract does not say, or says otherwise.

    A subclass has `environ` and `prepare`, as `Served` says.
    """

    def __init__(
        self, folder: Path, contract: Contract, *, dialect: Dialect | None = None, kept: Mapping[str, Any] | None = None
    ) -> None:
        derived = sandbox_of(contract) or SandboxContract(key_header=None)
        self.store = Records(folder / "records.jsonl")
        super().__init__(SandboxHere(Spoken(replace(derived, **(kept or {})), self.store, dialect or Plain())))

    def hide(self) -> None:
        """Lookups do not show what is made from here on."""
        self.stand_in.post("lookup-lag", {"seconds": HIDDEN_SECONDS})

    def show(self) -> None:
        """They show everything again."""
        self.stand_in.post("lookup-lag", {"seconds": 0})

    def advance(self, seconds: float) -> None:
        """Time passes here as well: keys are forgotten."""
        self.stand_in.post("clock", {"advance_seconds": seconds})

    def held(self) -> list[Mapping[str, object]]:
        """Every record's body, whether a lookup shows it or not."""
        return [as_object(each.payload) for each in self.store]
