"""The three drills of an adapter: real processes, a real kill, and the receiver's own count.

Each adapter is a module with `app` and `play(app, arguments, say)`, which says one of {receipt}, {refused}, {waits}. `how` is
begin, again (as this host comes back after a crash), resume (after a person has answered) or changed (the same call, with
another amount, after a person has approved the first).
"""

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil.model.codec import payload_digest
from counterfoil.testing.children import Child, Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.servers.kept import free_port

APPROVED, CHANGED = 10, 99
REFUSES = {"langgraph"}  # of two that resume at once the second is refused; elsewhere it waits for the first


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    adapter: str
    drill: str
    records: int
    verdict: str

    def __str__(self) -> str:
        return f"{self.adapter:<16} {self.drill:<28} {self.records:>7}  {self.verdict}"


class Stage:
    """One database, one part of the bank, and the processes of one drill."""

    def __init__(
        self, folder: Path, adapter: str, drill: str, children: Children, bank: SandboxProcess, host: dict[str, Any]
    ) -> None:
        for name in ("db", "state", "host"):
            (folder / name).mkdir(parents=True)
        self.folder, self.adapter, self.children, self.bank = folder, adapter, children, bank
        self.case = f"{adapter}-{drill}"
        self.host = host | {"port": free_port()}
        self._started = 0
        self.ends("found", of="tests.edges.adapters.refunds")

    def start(self, function: str = "play", *, of: str | None = None, **arguments: Any) -> Child:
        module = of or f"tests.edges.adapters.with_{self.adapter}"
        given = {
            "db": str(self.folder / "db" / "ledger.db"), "receivers": {"bank": f"{self.bank.url}/{self.case}"},
            "folder": str(self.folder / "host"), "number": self.case, "amount": APPROVED, "operation": "refund",
        } | self.host | arguments  # fmt: skip
        environ = {"COUNTERFOIL_STATE": str(self.folder / "state")}
        self._started += 1
        log = self.folder / f"{self._started}.log"
        return self.children.start(f"{module}:{function}", given, log=log, environ=environ, seconds=60)

    def ends(self, function: str = "play", *, of: str | None = None, **arguments: Any) -> dict[str, Any]:
        """A process that comes to its own end: what it said last."""
        return said_by(self.start(function, of=of, **arguments))

    def is_killed(self, at: str, **arguments: Any) -> None:
        """A process that is killed at a boundary, which its wait status proves."""
        child = self.start(crash_at=at, **arguments)
        status = child.wait()
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (status, child.wrote()[-6000:])

    def records(self) -> list[dict[str, Any]]:
        """What the bank itself has written down."""
        lines = [json.loads(line) for line in self.bank.records_file.read_text().splitlines()]
        return [line for line in lines if line["path"].startswith(f"/{self.case}/")]

    def amounts(self) -> list[int]:
        """Which refund each record is."""
        known = {payload_digest({"number": self.case, "amount": each}, where=""): each for each in (APPROVED, CHANGED)}
        return [known[record["payload_digest"]] for record in self.records()]


def said_by(child: Child) -> dict[str, Any]:
    child.wait()
    assert child.exit_code == 0, child.wrote()[-6000:]
    return next((said for said in reversed(child.said) if isinstance(said, dict)), {})


def lost_reply(stage: Stage) -> str:
    """The bank has accepted, and the process is killed before it has heard. It comes back."""
    stage.is_killed("operation.replied", how="begin")
    assert stage.amounts() == [APPROVED]
    ended = stage.ends(how="again")
    assert ended["receipt"]["reference"] == stage.records()[0]["id"], ended
    return "one record, and its receipt"


def double_resume(stage: Stage) -> str:
    """Approved once, and resumed by two processes at the same time."""
    assert stage.ends(how="begin", operation="reviewed_refund")["waits"] and not stage.records()
    stage.ends("approve", of="tests.edges.adapters.refunds")
    first = stage.start(how="resume", operation="reviewed_refund", freeze_at="operation.in_flight")
    first.wait_stopped()  # on its way, with nothing sent yet
    second = stage.start(how="resume", operation="reviewed_refund")
    if stage.adapter in REFUSES:
        second.wait()
    first.thaw()
    ended = [said_by(child) for child in (first, second)]
    receipts = {e["receipt"]["reference"] for e in ended if "receipt" in e}
    assert receipts == {record["id"] for record in stage.records()}, ended
    told = [next(iter(e.values())) for e in ended if "receipt" not in e]
    return "one record" + (f", the other: {told[0]}" if told else ", the same receipt twice")


def changed_arguments(stage: Stage) -> str:
    """Approved, and then the same call comes with another amount."""
    assert stage.ends(how="begin", operation="reviewed_refund")["waits"]
    stage.ends("approve", of="tests.edges.adapters.refunds")
    ended = stage.ends(how="changed", operation="reviewed_refund", amount=CHANGED)
    assert "receipt" not in ended and CHANGED not in stage.amounts(), ended
    after = stage.ends(how="resume", operation="reviewed_refund")
    assert after["receipt"]["reference"] == stage.records()[0]["id"], after
    return "the change is refused; what was approved, once"


DRILLS = {"accepted-reply-lost": lost_reply, "double-resume": double_resume, "approved-then-changed": changed_arguments}


def drilled(
    folder: Path, adapter: str, drill: str, children: Children, bank: SandboxProcess, host: dict[str, Any]
) -> Row:
    """Play one drill. What the bank holds decides. `host`: what a process must know of the engine's server, where it has one."""
    stage = Stage(folder, adapter, drill, children, bank, host)
    verdict = DRILLS[drill](stage)
    records = stage.amounts()
    assert records == [APPROVED], records
    return Row(adapter, drill, len(records), verdict)
