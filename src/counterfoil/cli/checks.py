"""Commands that check: `doctor`, `verify`, `conformance`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import Answer, Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import fields, heading, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

FOUND = 1
DOCTOR = (
    "{storage:{backend, version, location, synchronous, filesystem, ephemeral, replicas, marker_places}, "
    "promises:[{failure, survives: yes|no|if, because, evidence, improve}], "
    "checks:[{code, status: ok|warn|refuse, message, fix}], unattended:[UNATTENDED]}"
)
VERIFY = (
    "{chains, entries, heads_outside: matched|missing|differ, "
    "broken:[{run_id, sequence, problem: rewritten|removed|reordered|truncated|forged}], rows_compared, "
    "differences:[{table, key, column}], signature:{key_id, valid}}"
)
CONFORMANCE = "{backend, server_version, collected, passed, failed, skipped, capabilities, by_area:{area:{collected, passed}}, failures}"


def examined(console: "Console", data: Any) -> None:
    """The storage promise, then what is wrong."""
    fields(console, {name: value for name, value in data["storage"].items() if not isinstance(value, list)})
    heading(console, "what survives what")
    rows = [(p["failure"], p["survives"], p["because"], p["improve"]) for p in data["promises"]]
    table(console, ("failure", "survives", "because", "improve"), rows, empty="")
    heading(console, "checks")
    rows = [(c["status"], c["code"], c["message"], c["fix"]) for c in data["checks"]]
    table(console, ("status", "check", "what it found", "what to do"), rows, empty="Nothing to check.")
    if data["unattended"]:
        heading(console, "sent without a review")
        rows = [
            (
                u["operation"],
                u["environment"],
                u["drill_at"],
                u["undrilled_version"],
                None if u["waiver"] is None else u["waiver"]["until"],
            )
            for u in data["unattended"]
        ]
        table(console, ("operation", "environment", "drilled", "of another version", "waived until"), rows, empty="")


def verified(console: "Console", data: Any) -> None:
    """One sentence, and what is broken."""
    good = not data["broken"] and not data["differences"]
    found = "all of it as it was written" if good else "not as it was written"
    sentence(console, f"{data['chains']} chains, {data['entries']} entries, {data['rows_compared']} rows: {found}")
    sentence(console, f"heads kept outside: {data['heads_outside']}")
    rows = [(b["run_id"], b["sequence"], b["problem"]) for b in data["broken"]]
    if rows:
        table(console, ("chain", "sequence", "problem"), rows, empty="")
    rows = [(d["table"], d["key"], d["column"]) for d in data["differences"]]
    if rows:
        table(console, ("table", "key", "column"), rows, empty="")


def conforms(console: "Console", data: Any) -> None:
    """Counts by area, and what failed."""
    rows = [(area, counts["collected"], counts["passed"]) for area, counts in data["by_area"].items()]
    table(console, ("area", "collected", "passed"), rows, empty="")
    for name, said in data["failures"].items():
        sentence(console, f"{name}: {said}")
    sentence(console, f"{data['passed']} of {data['collected']} on {data['backend']} {data['server_version']}")


def add_to(root: Group) -> None:
    """Register the commands."""

    @root.command("doctor", data=DOCTOR, shows=examined, also=(FOUND,))
    def doctor(
        invocation: Invocation,
        production: Annotated[
            bool, typer.Option("--production", help="Refuse what is merely a warning on a laptop.")
        ] = False,
    ) -> Any:
        """Say what this installation survives, from its live settings. Exit 1 when a check refuses."""
        data = invocation.app().doctor(production=production)
        return Answer(data, FOUND if any(check["status"] == "refuse" for check in data["checks"]) else 0)

    @root.command("verify", data=VERIFY, shows=verified, also=(FOUND,))
    def verify(
        invocation: Invocation,
        run: Annotated[str | None, typer.Option(metavar="RUN", help="The chain of this run only.")] = None,
    ) -> Any:
        """Check that the record is as it was written, and that the tables say what it says. Exit 1 when not."""
        data = invocation.app().verify(run=run)
        return Answer(data, FOUND if data["broken"] or data["differences"] else 0)

    @root.command("conformance", data=CONFORMANCE, shows=conforms, also=(FOUND,))
    def conformance(invocation: Invocation) -> Any:
        """Check that a backend does everything that the ledger needs. For SQLite: beside --db, in files of its own."""
        data = _conformance(invocation)
        return Answer(data, FOUND if data["failed"] else 0)


def _conformance(invocation: Invocation) -> dict[str, Any]:
    from counterfoil.testing.conformance import run_conformance
    from counterfoil.testing.conformance.backends import backend_at

    with backend_at(invocation.located()) as backend:
        report = run_conformance(backend.make)
    return asdict(report) | {"backend": backend.name, "server_version": backend.server_version, "capabilities": {}}
