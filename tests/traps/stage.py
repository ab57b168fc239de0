"""One contract of the catalogue, the application that sends under it, and the sandbox that keeps it."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterfoil.drills.derived import sandbox_of
from counterfoil.engine.definitions import Bearer, Env
from counterfoil.engine.port import Ask, Call, Run
from counterfoil.model.contract import Contract, Found, Seen
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.receipt import Receipt, ReceiptRecord
from counterfoil.model.run import RunState
from counterfoil.receivers.catalogue import contract
from counterfoil.testing.loopback.faults import Faults
from counterfoil.testing.loopback.serving import LoopbackServer
from counterfoil.testing.sandbox.clock import SandboxClock
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.records import Records
from counterfoil.testing.sandbox.server import FAULTS, Sandbox
from tests.engine.house import BUDGET, House, Order

Build = Callable[..., "Stage"]
ENDS = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.PARKED)
DAY = 86_400.0


async def find(ask: Ask, order: Order) -> Seen[Receipt]:
    """Everything of ours that the receiver shows, with its content."""
    page = (await ask.http.get(Stage.path, params={"reference": ask.operation_id, "limit": 100})).json()
    return Seen([_found(item, order) for item in page["data"]], complete=not page["has_more"])


def _found(item: Mapping[str, Any], order: Order) -> Found[Receipt]:
    shown = {name: item[name] for name in ("number", "amount")}
    return Found(Receipt(reference=item["id"]), payload=order.model_copy(update=shown))


class Stage:
    """`entry`: whose contract. `overrides`: what the account knows better. `sandbox`: how the receiver differs from it."""

    path = "/cases"

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        entry: str,
        *,
        overrides: Mapping[str, Any] | None = None,
        sandbox: Mapping[str, Any] | None = None,
        asks: Any = find,
        paths: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> None:
        self.contract: Contract = contract(entry, find=asks, overrides=overrides)
        kept = sandbox_of(self.contract)
        assert kept is not None
        self.kept: SandboxContract = replace(kept, **(sandbox or {}))
        self.records = Records(folder / "records.jsonl")
        self.faults = Faults(FAULTS)
        self.at = SandboxClock()
        self.receiver = Sandbox(self.kept, self.records, self.faults, self.at)
        self.server = LoopbackServer(self.receiver, 0)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        monkeypatch.setenv("TRAP_TOKEN", "first")
        self.monkeypatch = monkeypatch
        self.house = House(folder, monkeypatch, self.server.url)
        # The version that the contract names travels in front of everything: the sandbox takes any address.
        version = self.contract.version
        front = version.path.format(self.contract.api_version).rstrip("/") if version and version.path else ""
        monkeypatch.setattr(Stage, "path", f"{front}/cases")
        self.workflow = self.register(self.house.app, paths or {"": Stage.path}, repeatable=repeatable)
        self.house.found()

    def register(self, app: Any, paths: Mapping[str, str], *, repeatable: bool, operations: Sequence[Any] = ()) -> Any:
        """One operation for each path, or each of these functions, performed one after the other."""
        app.receiver("r", url=Env("CRM_URL"), credential=Bearer(Env("TRAP_TOKEN")), environment="test")
        performed = [
            app.operation(
                receiver="r",
                contract=self.contract,
                business_key=None if repeatable else "number",
                repeatable=repeatable,
                owner="lead",
            )(function)
            for function in operations or [writer(name, path) for name, path in paths.items()]
        ]

        async def writing(run: Run, order: Order) -> list[str]:
            return [(await run.perform(operation, order)).reference for operation in performed]

        return app.workflow(version=1, budget=BUDGET)(writing)

    # ------------------------------------------------------------------ what is done

    def restart(self, registered: Callable[[Any], Any]) -> None:
        """Another process over the same database, with the code that this registers."""
        again = self.house.new_app()
        self.workflow = registered(again)
        self.house.app.close()
        self.house.app = again
        again.open()

    def advance(self, seconds: float) -> None:
        """Time passes for both."""
        self.house.clock.advance(seconds)
        self.receiver.move_clock({"advance_seconds": seconds})

    def told(self, *requests: str, number: str = "1", within: float = 7 * DAY) -> list[str]:
        """The runs of these requests, driven until they end, park, or wait for something outside. Their states."""

        async def story() -> list[str]:
            async with self.house.working():
                return [await self._driven(request, number, within) for request in requests or ("r",)]

        return asyncio.run(story())

    async def _driven(self, request: str, number: str, within: float) -> str:
        submitted = await self.house.app.submit(self.workflow, Order(number=number), request_id=request)
        seen, left = 0, within
        while True:
            run = await self.house.until(submitted.run_id, lambda run, seen=seen: _moved(run, seen))
            if run.state in ENDS or run.due_at is None:
                return run.reason or run.state.value
            ahead = max((run.due_at - self.house.clock.now_us()) / 1_000_000, 0) + 0.001
            left -= ahead
            if left < 0:
                return run.state.value
            seen = run.sequence
            self.advance(ahead)

    # ------------------------------------------------------------------ what is there

    def held(self) -> list[dict[str, Any]]:
        """What the receiver holds, shown by lookups or not."""
        return self.receiver.state()["records"]  # type: ignore[return-value]

    def requests(self) -> list[dict[str, Any]]:
        """Every write that arrived."""
        return self.receiver.traffic.log()  # type: ignore[return-value]

    def all(self, kind: type[Any]) -> list[Any]:
        ids = [operation.operation_id for operation in self.operations()]
        with self.house.app.open().read() as reader:
            return [each for operation_id in ids for each in reader.find(kind, "operation_id", operation_id)]

    def operations(self) -> list[OperationRecord]:
        ids = [item["operation_id"] for item in self.house.app.operations.list()["items"]]
        with self.house.app.open().read() as reader:
            return [found for found in (reader.get(OperationRecord, id) for id in ids) if found is not None]

    def operation(self) -> OperationRecord:
        (found,) = self.operations()
        return found

    def attempts(self) -> list[AttemptRecord]:
        return sorted(self.all(AttemptRecord), key=lambda attempt: attempt.n)

    def receipts(self) -> list[ReceiptRecord]:
        return self.all(ReceiptRecord)

    def close(self) -> None:
        self.house.app.close()
        self.server.shutdown()
        self.server.server_close()
        self.records.close()


def _moved(run: Any, seen: int) -> bool:
    return run.state in ENDS or (run.state is RunState.WAITING and run.sequence > seen)


def writer(name: str, path: str) -> Any:
    async def write(call: Call, order: Order) -> Receipt:
        reply = await call.http.post(
            path, json=order.model_dump(), headers={"Counterfoil-Operation": call.operation_id}
        )
        shown = reply.json()
        return Receipt(reference=str(shown.get("id", shown.get("reference", "accepted"))))

    write.__name__ = f"write{name}"
    return write
