"""`counterfoil restore`."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.progress import progress, told
from counterfoil.cli.prompts import asked, secret_of, with_one_person
from counterfoil.cli.tables import sentence, table
from counterfoil.cli.writes import Reason
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

FOUND = 1
_OF_ONE = re.compile(r"op[-_][0-9a-z]+=")

restore = group(
    "restore", "After a restore, or in a copy opened elsewhere: nothing is sent until a person finishes it."
)


def restored(console: "Console", data: Any) -> None:
    """How it was recognised and how many are in doubt, then the doubts with what may be done."""
    pages.record(console, {name: value for name, value in data.items() if name not in ("doubts", "reconciled")})
    rows = [
        (
            f"op-{d['number']}",
            d["receiver"],
            d["operation"],
            d["status"],
            d["showed"],
            d["owner"],
            d["next_action"]["command"],
        )
        for d in data["doubts"]
    ]
    if rows:
        table(console, ("in doubt", "receiver", "operation", "status", "showed", "owner", "next"), rows, empty="")


def reconciled(console: "Console", data: Any) -> None:
    """What came of the questions, and what is left."""
    came = data["reconciled"]
    restored(console, data)
    closed = f"{came['closed']['succeeded']} have happened, {came['closed']['failed']} have not"
    before = f" {came['asked_before']} were asked about before." if came["asked_before"] else ""
    sentence(
        console, f"{came['asked']} operations were asked about: {closed}, {came['in_doubt']} are in doubt.{before}"
    )
    for why, number in came["not_askable"].items():
        sentence(console, f"{number} cannot be asked about: {why}.")
    if came["adopted"]:
        sentence(console, f"{came['adopted']} records were adopted that this ledger does not know.")
    for name, problem in came["problems"].items():
        sentence(console, f"The listing of {name} gave not all: {problem}")
    if came["unreachable"]:
        away = ", ".join(came["unreachable"])
        sentence(console, f"No answer from {away}; {came['left']} are left. The same command goes on with them.")


@restore.command("status", data="RESTORE", shows=restored)
def status(invocation: Invocation) -> Any:
    """Whether this database was recognised as restored, moved or copied."""
    return invocation.app().restore.status()


@restore.command("begin", data="RESTORE", shows=restored)
def begin(invocation: Invocation, by: Person = None, reason: Reason = None) -> Any:
    """Say that this database was restored, where nothing recognised it: sending is suspended. Takes a name and no secret."""
    app = invocation.app()
    app.open(attested=True)
    why = asked(invocation, reason, "--reason", "How do you know")
    person = asked(invocation, by, "--by", "Who are you")
    return awaited(app.restore.begin(by=person, reason=why))


@restore.command("reconcile", data="RESTORE with {reconciled:RECONCILED}", shows=reconciled, also=(FOUND,))
def reconcile(
    invocation: Invocation,
    receiver: Annotated[str | None, typer.Option(metavar="NAME", help="Only at this receiver.")] = None,
    per_minute: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="Questions to one receiver in a minute; else the setting's."),
    ] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="PERSON", help="Who does this; it is recorded.")] = None,
) -> Any:
    """Ask every receiver about everything that was prepared and not closed. Nothing is sent but lookups. Needs the application's code.

    At most COUNTERFOIL_RECONCILE_PER_MINUTE questions to one receiver. It may be stopped at any time and goes on where it was.
    Status 1 if a receiver gave no answer, or an incident was opened.
    """
    app = invocation.with_code()
    with progress(invocation) as shown:
        found = awaited(app.restore.reconcile(receiver=receiver, per_minute=per_minute, by=by, told=told(shown)))
    came = found["reconciled"]
    return Answer(found, FOUND if came["unreachable"] or came["incidents"] else 0)


@restore.command("finish", data="RESTORE", shows=restored)
def finish(
    invocation: Invocation,
    as_: Annotated[str, typer.Option("--as", metavar="restored|moved|clone", help="What this database is.")],
    by: Person = None,
    reason: Reason = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NOTE",
            help="Why sending may go on beside what is in doubt; op-NUMBER=NOTE for one, given for each.",
        ),
    ] = None,
    secret_file: SecretFile = None,
) -> Any:
    """Attest that every sender from before is gone; sending is possible again. What is still in doubt is accepted in writing."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "How do you know")
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    notes = _notes(accept or [])

    def finished(accepted: str | dict[str, str] | None) -> Any:
        return awaited(app.restore.finish(as_=as_, by=person, secret=secret, reason=why, accept=accepted))

    try:
        data = finished(notes)
    except Refused as refused:
        if refused.code != "doubts_left" or not invocation.streams.interactive:
            raise
        data = finished(asked(invocation, None, "--accept", f"{refused.message} Why may sending go on"))
    return with_one_person(invocation, app, data)


def _notes(given: list[str]) -> str | dict[str, str] | None:
    """One note for all, or a note for each that is named. Raises Refused(usage) for both, and for two notes for all."""
    named = dict(each.split("=", 1) for each in given if _OF_ONE.match(each))
    for_all = [each for each in given if not _OF_ONE.match(each)]
    if len(for_all) > 1 or (for_all and named):
        raise Refused("usage", problem="give --accept once for all, or as op-NUMBER=NOTE for each")
    return for_all[0] if for_all else named or None
