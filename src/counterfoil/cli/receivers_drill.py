"""`counterfoil receivers drill`: each connector against a receiver that was started for it, under crashes and lost replies."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import Answer, Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.receivers import FOUND
from counterfoil.cli.tables import sentence, table
from counterfoil.model.error_code import MISSING

if TYPE_CHECKING:
    from rich.console import Console

DRILLED = (
    "{items:[{connector, server, server_kind: real|sandbox, "
    "cases:[{name, records, outcome: succeeded|failed|unresolved, visible, attempts, how, verdict: pass|fail, reasons}], "
    "records, verdict: pass|fail|not_run, reasons}], next_cursor}"
)


def drilled_table(console: "Console", data: Any) -> None:
    """One row for each connector and server; then what is wrong, and what was not run."""
    rows = [
        (i["connector"], i["server"], i["server_kind"], str(len(i["cases"])), str(i["records"] or 0), i["verdict"])
        for i in data["items"]
    ]
    table(console, ("connector", "server", "kind", "cases", "records", "verdict"), rows, empty="No connector.")
    for item in data["items"]:
        for reason in item["reasons"]:
            sentence(console, f"- {item['connector']}, {item['verdict'].replace('_', ' ')}: {reason}")


def drill(
    invocation: Invocation,
    connector: Annotated[
        str | None,
        typer.Argument(metavar="CONNECTOR", help="stripe, or stripe.refund; left out: every one."),
    ] = None,
) -> Any:
    """Drill the connectors: lose replies, kill workers, let keys expire, and count what the receiver holds afterwards.

    `records` is the most that one payload has left there. Status 1 where a case failed, 6 where a server is not installed.
    """
    import tempfile
    from pathlib import Path

    from counterfoil.connectors.drilled import drills
    from counterfoil.connectors.drilling import play_all

    chosen = drills(connector)
    items: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="counterfoil-connectors-") as folder:
        for each in chosen:
            invocation.streams.notes().print(f"{each.connector} at {each.server} ...")
            items.append(play_all(each, Path(folder)))
    verdicts = {item["verdict"] for item in items}
    status = FOUND if "fail" in verdicts else MISSING if "not_run" in verdicts else 0
    return Answer({"items": items, "next_cursor": None}, status)


def add_to(group: Group) -> None:
    """Register the command."""
    group.command("drill", data=DRILLED, shows=drilled_table, also=(FOUND, MISSING))(drill)
