"""`counterfoil runs`."""

import re
from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Cursor, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.prompts import asked
from counterfoil.model.errors import Refused

runs = group("runs", "What runs are there, and what moves them.")

Which = Annotated[str, typer.Argument(metavar="RUN", help="An id, a unique start of it, a number, or run-NUMBER.")]
By = Annotated[str | None, typer.Option("--by", metavar="PERSON", help="Who does this; it is recorded.")]
MOVED = "{run_id, number, state, reason, next_action:NEXT, heading}"
_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


@runs.command("list", data="{items:[RUN without records], next_cursor}", shows=pages.runs)
def list_runs(
    invocation: Invocation,
    state: Annotated[
        str | None, typer.Option(help="pending, running, waiting, parked, completed, failed, cancelled.")
    ] = None,
    workflow: Annotated[str | None, typer.Option(help="Of this workflow only.")] = None,
    reason: Annotated[str | None, typer.Option(help="Parked for this reason only.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List runs, newest first."""
    return invocation.app().runs.list(state=state, workflow=workflow, reason=reason, cursor=cursor, limit=limit)


@runs.command("show", data="RUN", shows=pages.run)
def show(invocation: Invocation, run: Which) -> Any:
    """Show a run: what is established, pending and uncertain, who can move it, and its six records."""
    return invocation.app().runs.show(run)


@runs.command("cancel", data=MOVED, shows=pages.moved_run)
def cancel(
    invocation: Invocation,
    run: Which,
    by: By = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it is recorded.")] = "",
) -> Any:
    """Cancel a run: nothing more is sent. What is in doubt is still asked for."""
    return awaited(invocation.app().runs.cancel(run, by=by, reason=reason))


@runs.command("resume", data=MOVED, shows=pages.moved_run)
def resume(
    invocation: Invocation,
    run: Which,
    raises: Annotated[
        list[str] | None,
        typer.Option(
            "--raise",
            metavar="KIND=N",
            help="A new limit: attempts=N, tokens=N, calls:NAME=N, elapsed=SECONDS, spend=USD. Repeatable.",
        ),
    ] = None,
    by: By = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why; it is recorded. A terminal asks for it with --raise.")
    ] = "",
) -> Any:
    """Move a parked run on, with higher limits where a budget is spent."""
    limits = dict(limit_of(text) for text in raises or ())
    if limits and invocation.streams.interactive:
        reason = asked(invocation, reason, "--reason", "Why")
    return awaited(invocation.app().runs.resume(run, by=by, raises=limits, reason=reason))


@runs.command("retry", data=MOVED, shows=pages.moved_run)
def retry(invocation: Invocation, run: Which, by: By = None) -> Any:
    """Take up a failed run, or one parked as step_failed. Finished operations answer for themselves."""
    return awaited(invocation.app().runs.retry(run, by=by))


def limit_of(text: str) -> tuple[str, str]:
    """KIND=N as kind and amount. Raises Refused(usage)."""
    kind, _, amount = text.rpartition("=")
    if not _AMOUNT.fullmatch(amount):
        raise Refused("usage", problem=f"--raise {text!r} is not KIND=N with a plain number of at most 12 digits")
    return kind, amount
