"""A sandbox's receiver without a server, for tests of what it decides."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from counterfoil.testing.loopback.exchange import Request
from counterfoil.testing.loopback.faults import Faults
from counterfoil.testing.sandbox import FAULTS, SandboxContract, contract_of_kind
from counterfoil.testing.sandbox.clock import SandboxClock
from counterfoil.testing.sandbox.receiver import Outcome, Receiver
from counterfoil.testing.sandbox.records import Records
from counterfoil.testing.sandbox.writes import Write, read_write

BODY: Mapping[str, object] = {"external_id": "e-1", "amount": 5}


class Bench:
    """A receiver with its file, faults and clock; `send` makes one write and ends it at once."""

    def __init__(self, folder: Path, contract: SandboxContract | str, clock: SandboxClock | None = None) -> None:
        self.contract = contract_of_kind(contract) if isinstance(contract, str) else contract
        self.file = folder / "records.jsonl"
        self.faults = Faults(FAULTS)
        self.clock = clock or SandboxClock()
        self.start()

    def start(self) -> None:
        self.records = Records(self.file)
        self.receiver = Receiver(self.contract, self.records, self.faults, self.clock)

    def restart(self) -> None:
        self.records.close()
        self.start()

    def write(
        self, body: Mapping[str, object] = BODY, *, method: str = "POST", path: str = "/cases", **headers: str
    ) -> Write:
        named = {
            "idempotency-key": "k-1",
            "counterfoil-operation": "op_1",
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        request = Request(method, path, path, {}, named, json.dumps(body).encode())
        return read_write(request, self.contract.key_header)

    def send(self, body: Mapping[str, object] = BODY, **rest: str) -> Outcome:
        outcome = self.receiver.write(self.write(body, **rest))
        self.receiver.finish(outcome)
        return outcome

    def ask(self, path: str = "/cases", **query: str) -> tuple[int, dict[str, Any]]:
        reply = self.receiver.lookup(Request("GET", path, path, query, {}, b""))
        assert isinstance(reply.body, dict)
        return reply.status, reply.body

    def found(self, **query: str) -> list[str]:
        status, body = self.ask(**query)
        assert status == 200
        return [str(item["id"]) for item in body["data"]]

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]
