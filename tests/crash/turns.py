"""One turn of an agent under crashes: its workers, its people, what the receivers hold, and what the journal says."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil.model.conversation import MessageRecord, Turn
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord
from counterfoil.testing import Bench
from counterfoil.testing.bench import SECRET, WORK, BenchRun
from counterfoil.testing.case_ledger import MakeLedger
from counterfoil.testing.children import Child, Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash import desk

# The receivers of a turn, and the kind of each. `bank` is what the undeclared tool pays at, past the ledger.
KINDS = {"crm": "key", "post": "none", "bank": "lookup"}
LEASE_S = 3
HELD = ("possible_repeat", "business_key_conflict")
UNKNOWN, PREPARED = OperationStatus.UNKNOWN, OperationStatus.PREPARED
DONE = "All is done."


@dataclass
class Room:
    """Where one test's turns happen: its folder, and its part of each receiver."""

    folder: Path
    case: str
    servers: Children
    receivers: dict[str, SandboxProcess]
    ledgers: MakeLedger

    def environ(self) -> dict[str, str]:
        urls = {f"{name.upper()}_URL": f"{self.receivers[kind].url}/{self.case}/{name}" for name, kind in KINDS.items()}
        return urls | {"DESK_FOLDER": str(self.folder)}

    def records(self, receiver: str) -> list[dict[str, Any]]:
        """What the receiver itself has written down of this test: its own file."""
        file = self.receivers[KINDS[receiver]].records_file
        found = [json.loads(line) for line in file.read_text().splitlines()]
        return [record for record in found if record["path"].startswith(f"/{self.case}/{receiver}/")]

    def bodies(self, receiver: str) -> list[dict[str, Any]]:
        """Of those records, in their order."""
        return [record["payload"] for record in self.records(receiver)]

    def fault(self, receiver: str, name: str) -> None:
        """The next write to the receiver meets it."""
        self.receivers[KINDS[receiver]].fault(name)

    def lines(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @asynccontextmanager
    async def bench(self) -> AsyncGenerator[Bench]:
        async with Bench(desk.app, self.folder, children=self.servers, ledgers=self.ledgers) as bench:
            yield bench

    @asynccontextmanager
    async def played(
        self, script: list[Any], crash_at: str | None = None, agent: Any = desk.desk
    ) -> AsyncGenerator["Played"]:
        """A submitted turn. The first worker that drives it dies at `crash_at`."""
        async with self.bench() as bench:
            text = json.dumps(script)
            run = await bench.submit(agent.workflow, Turn(text=text), request_id="r-1", crash_at=crash_at)
            yield Played(self, bench, run)

    @asynccontextmanager
    async def said(self, script: list[Any], agent: str = "desk") -> AsyncGenerator["Played"]:
        """The first message of the conversation `c`."""
        async with self.bench() as bench:
            yield await said(self, bench, script, 1, agent)


async def said(room: Room, bench: Bench, script: list[Any], n: int, agent: str = "desk") -> "Played":
    """The n-th message of the conversation `c`."""
    given = {"conversation": "c", "request_id": f"r-{n}", "agent": agent}
    sent = await bench.app.conversations.send(json.dumps(script), **given)
    return Played(room, bench, BenchRun(sent["run_id"], None))


class Played:
    """One turn."""

    def __init__(self, room: Room, bench: Bench, run: BenchRun) -> None:
        self.room, self.bench, self.run = room, bench, run

    # ------------------------------------------------------------------ workers

    def starts(self, *, crash_at: str | None = None, work: str = WORK, **environ: str) -> Child:
        return self.bench.start_worker(self.run.run_id, crash_at=crash_at, work=work, environ=environ)

    async def dies(self, at: str) -> None:
        """A worker is killed where it stands: at a place in the desk, or at a boundary."""
        boundary = "." in at
        child = self.starts(crash_at=at if boundary else None, **({} if boundary else {"DESK_DIES": at}))
        await asyncio.to_thread(child.wait)
        assert child.exit_signal == 9, child.wrote()[-6000:]

    async def frozen(self, at: str) -> Child:
        """A worker that stands still at a place in the desk, or at a boundary, with a short lease."""
        work = "tests.crash.desk:freezes" if "." in at else WORK
        child = self.starts(work=work, DESK_FREEZES=at, COUNTERFOIL_LEASE_SECONDS=str(LEASE_S))
        await asyncio.to_thread(child.wait_stopped)
        assert child.process_state() == "T"
        return child

    async def driven(self, by: str = "ana") -> RunRecord:
        """Workers, and a person who approves, until nothing goes on by itself."""
        for _ in range(9):
            stored = await self.bench.drive(self.run)
            if not self.asked():
                return stored
            await self.bench.approve(self.run, by=by)
        raise AssertionError("it asks for ever")

    # ------------------------------------------------------------------ people

    def asked(self) -> list[dict[str, Any]]:
        """The reviews that are open."""
        items: list[dict[str, Any]] = self.bench.app.reviews.list(state="open")["items"]
        return items

    def waiting(self) -> list[OperationRecord]:
        """The operations that only a person moves: in doubt, or held."""
        return [o for o in self.operations() if o.status is UNKNOWN or (o.status is PREPARED and o.reason in HELD)]

    async def resolved(self, as_: str, *operations: OperationRecord) -> None:
        """A person closes the one doubt or hold that there is, or the one that is named."""
        (operation,) = operations or self.waiting()
        await self._resolved(operation, as_)

    async def to_the_end(self) -> list[str | None]:
        """Until the run has ended. Whoever is asked looks at the receivers, and says what is there; what is held is refused.

        Gives why people were asked, in order.
        """
        why: list[str | None] = []
        for _ in range(9):
            stored = await self.driven()
            if stored.state.ended:
                return why
            why.append(stored.reason)
            for operation in self.waiting():
                happened = operation.status is UNKNOWN and self._happened(operation)
                await self._resolved(operation, "succeeded" if happened else "failed")
        raise AssertionError(f"it never ends: {why}")

    async def _resolved(self, operation: OperationRecord, as_: str) -> None:
        await self.bench.app.operations.resolve(
            operation.operation_id, as_=as_, reference="seen-there" if as_ == "succeeded" else None,
            reason="Looked there.", evidence="its list", expect_version=operation.version, by="oscar", secret=SECRET,
        )  # fmt: skip

    def _happened(self, operation: OperationRecord) -> bool:
        payload = json.loads(operation.payload)
        wanted = payload["arguments"] if operation.undeclared else payload
        where = "bank" if operation.undeclared else operation.receiver
        return any(wanted | body == wanted for body in self.room.bodies(where))

    # ------------------------------------------------------------------ what is there

    def operations(self) -> list[OperationRecord]:
        """Of the run, oldest first."""
        with self.bench.app.open().read() as reader:
            found = reader.find(OperationRecord, "run_id", self.run.run_id)
        return sorted(found, key=lambda operation: operation.number)

    def kinds(self) -> list[str]:
        """Of the entries of the run."""
        return [entry["kind"] for entry in self.bench.app.evidence.entries(self.run.run_id, limit=1000)["items"]]

    def decided(self) -> list[str]:
        """The positions of the decisions, in their order."""
        entries = self.bench.app.evidence.entries(self.run.run_id, limit=1000)["items"]
        return [entry["position"] for entry in entries if entry["kind"] == "decision"]

    def said(self) -> list[str]:
        """What the agent has said in this turn, as the conversation shows it."""
        with self.bench.app.open().read() as reader:
            found = reader.find(MessageRecord, "run_id", self.run.run_id)
        return [message.text for message in found if message.role == "agent"]

    def heard(self, n: int = -1) -> str:
        """What the model was told by its n-th request."""
        return " ".join(self.room.lines("requests")[n]["heard"])

    def balanced(self) -> dict[str, int]:
        """Requests that reached the model, decisions, and calls counted as lost; none of them is unaccounted for."""
        kinds = self.kinds()
        counts = {
            "requests": len(self.room.lines("requests")), "decisions": kinds.count("decision"),
            "lost": kinds.count("lost"), "failed": len(self.room.lines("failures")),
        }  # fmt: skip
        asked = kinds.count("asked")
        assert asked == counts["decisions"] + counts["lost"] + counts["failed"], kinds
        # A lost call may have died before it left.
        assert counts["decisions"] + counts["failed"] <= counts["requests"] <= asked, counts
        return counts

    def done(self) -> None:
        """The run has ended with the script's last answer, and every request is accounted for."""
        stored = self.bench.stored(self.run)
        assert (stored.state, stored.result) == ("completed", json.dumps(DONE)), (stored.state, stored.failure)
        self.balanced()


async def again(turn: Played) -> Played:
    """The same message as another run's."""
    known = turn.bench.stored(turn.run)
    workflow = turn.bench.app.registry.workflows[known.workflow, known.workflow_version]
    run = await turn.bench.submit(workflow, Turn.model_validate_json(known.input), request_id="r-2")
    return Played(turn.room, turn.bench, run)
