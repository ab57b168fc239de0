"""`counterfoil inbox`."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from counterfoil.cli import inbox_pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import LARGEST, Answer, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of

if TYPE_CHECKING:
    from counterfoil.app import App
    from counterfoil.app.inbox_bulk import Act
    from counterfoil.model.inbox import InboxFilter

inbox = group("inbox", "What needs a person: take it, hand it over, put it off, act on many.")

Which = Annotated[str, typer.Argument(metavar="SUBJECT", help="rev-N, run-N, inc-N, an id or a unique start of it.")]
What = Annotated[str, typer.Argument(metavar="ACT", help="lookup, resume, cancel or hand-over.")]
Owner = Annotated[str | None, typer.Option(metavar="NAME", help="Owned by, or escalated to, this person or role.")]
Workflow = Annotated[str | None, typer.Option(help="Of this workflow only.")]
Receiver = Annotated[str | None, typer.Option(metavar="R", help="About a write to this receiver only.")]
Reason = Annotated[str | None, typer.Option(help="Waiting for this reason only: review, incident, a park reason.")]
Mine = Annotated[
    str | None, typer.Option(metavar="PERSON", help="What this person took, and what a role of theirs is asked.")
]
Text = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Stands in the number, request, operation, target or key.")
]
Snoozed = Annotated[bool, typer.Option("--snoozed", help="Also what was put off.")]
Cursor = Annotated[
    str | None, typer.Option("--cursor", metavar="C", help="Go on where `next_cursor` of the page before says.")
]
To = Annotated[str | None, typer.Option("--to", metavar="WHO", help="A person or a role.")]
SHOWN = "ITEM and {said:[{comment_id, person, text, at}]}"


@inbox.command("list", data="{items:[ITEM], next_cursor}", shows=inbox_pages.items)
def list_inbox(  # noqa: PLR0913 - each is an option of the command
    invocation: Invocation,
    owner: Owner = None,
    workflow: Workflow = None,
    receiver: Receiver = None,
    reason: Reason = None,
    mine: Mine = None,
    text: Text = None,
    snoozed: Snoozed = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List what needs a person, the earliest deadline first."""
    wanted = _wanted(owner, workflow, receiver, reason, mine, text, snoozed)
    return invocation.app().inbox.list(wanted, cursor=cursor, limit=limit)


@inbox.command("counts", data="{total, overdue, snoozed, reasons:[{reason, count, overdue}]}", shows=inbox_pages.counts)
def counts(
    invocation: Invocation,
    owner: Owner = None,
    workflow: Workflow = None,
    receiver: Receiver = None,
    mine: Mine = None,
    text: Text = None,
) -> Any:
    """Count what needs a person, by reason."""
    return invocation.app().inbox.counts(_wanted(owner, workflow, receiver, None, mine, text, False))


@inbox.command("show", data=SHOWN, shows=inbox_pages.item)
def show(invocation: Invocation, subject: Which) -> Any:
    """Show one thing with what was said about it."""
    return invocation.app().inbox.show(subject)


@inbox.command("take", data=SHOWN, shows=inbox_pages.item)
def take(invocation: Invocation, subject: Which, by: Person = None, secret_file: SecretFile = None) -> Any:
    """Say that you work on it."""
    app, person, secret = _person(invocation, subject, by, secret_file)
    return awaited(app.inbox.take(subject, by=person, secret=secret))


@inbox.command("hand-over", data=SHOWN, shows=inbox_pages.item)
def hand_over(
    invocation: Invocation, subject: Which, to: To = None, by: Person = None, secret_file: SecretFile = None
) -> Any:
    """Give it to a person or a role, whoever has it now."""
    whom = asked(invocation, to, "--to", "To whom")
    app, person, secret = _person(invocation, subject, by, secret_file)
    return awaited(app.inbox.hand_over(subject, to=whom, by=person, secret=secret))


@inbox.command("comment", data=SHOWN, shows=inbox_pages.item)
def comment(
    invocation: Invocation,
    subject: Which,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="What the next who looks should know.")] = None,
    by: Person = None,
    secret_file: SecretFile = None,
) -> Any:
    """Say something about it."""
    said = asked(invocation, text, "--text", "What should the next one know")
    app, person, secret = _person(invocation, subject, by, secret_file)
    return awaited(app.inbox.comment(subject, text=said, by=person, secret=secret))


@inbox.command("snooze", data=SHOWN, shows=inbox_pages.item)
def snooze(
    invocation: Invocation,
    subject: Which,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="RFC 3339, or from now: 30m, 4h, 1d. Before its deadline.")
    ] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why it can wait.")] = None,
    by: Person = None,
    secret_file: SecretFile = None,
) -> Any:
    """Put it off until its deadline at the latest; it comes back by itself."""
    end = asked(invocation, until, "--until", "Until when")
    why = asked(invocation, reason, "--reason", "Why can it wait")
    app, person, secret = _person(invocation, subject, by, secret_file)
    return awaited(app.inbox.snooze(subject, until=end, reason=why, by=person, secret=secret))


@inbox.command("let-go", data=SHOWN, shows=inbox_pages.item)
def let_go(
    invocation: Invocation,
    subject: Which,
    snooze: Annotated[bool, typer.Option("--snooze", help="It is no longer put off; who has it keeps it.")] = False,
    by: Person = None,
    secret_file: SecretFile = None,
) -> Any:
    """Nobody works on it any more; with --snooze it is no longer put off."""
    app, person, secret = _person(invocation, subject, by, secret_file)
    return awaited(app.inbox.let_go(subject, by=person, secret=secret, snooze=snooze))


@inbox.command("preview", data="{act, count, left_out, digest, items:[ITEM]}", shows=inbox_pages.preview)
def preview(  # noqa: PLR0913 - each is an option of the command
    invocation: Invocation,
    act: What,
    owner: Owner = None,
    workflow: Workflow = None,
    receiver: Receiver = None,
    reason: Reason = None,
    mine: Mine = None,
    text: Text = None,
    snoozed: Snoozed = False,
) -> Any:
    """Show what acting on many would act on: the count, the digest, the first fifty."""
    wanted = _wanted(owner, workflow, receiver, reason, mine, text, snoozed)
    return invocation.app().inbox.preview(cast("Act", act), wanted)


@inbox.command(
    "carry-out",
    data="{act, count, done:[{subject, state}], refused:[{subject, code, message}]}",
    shows=inbox_pages.carried_out,
    also=(1,),
)
def carry_out(  # noqa: PLR0913 - each is an option of the command
    invocation: Invocation,
    act: What,
    count: Annotated[
        int, typer.Option("--count", min=0, max=LARGEST, help="As the preview counted; refused otherwise.")
    ],
    digest: Annotated[str | None, typer.Option("--digest", metavar="D", help="As the preview gave it.")] = None,
    owner: Owner = None,
    workflow: Workflow = None,
    receiver: Receiver = None,
    reason: Reason = None,
    mine: Mine = None,
    text: Text = None,
    snoozed: Snoozed = False,
    to: To = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Of cancelling; it is recorded.")] = "",
    by: Person = None,
    secret_file: SecretFile = None,
) -> Any:
    """Act on all that fits, each by its own verb. A lookup needs the application's code. Resolving stays one by one."""
    app = invocation.with_code() if act == "lookup" else invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    wanted = _wanted(owner, workflow, receiver, reason, mine, text, snoozed)
    done = awaited(
        app.inbox.carry_out(
            cast("Act", act), wanted, count=count, digest=digest, reason=why, to=to, by=person, secret=secret
        )
    )
    return Answer(done, status=1 if done["refused"] else 0)


def _wanted(
    owner: str | None,
    workflow: str | None,
    receiver: str | None,
    reason: str | None,
    mine: str | None,
    text: str | None,
    snoozed: bool,
) -> "InboxFilter":
    from counterfoil.model.inbox import InboxFilter

    return InboxFilter(owner, workflow, receiver, reason, mine, text, snoozed)


def _person(invocation: Invocation, subject: str, by: str | None, secret_file: Any) -> "tuple[App, str, str]":
    app = invocation.app()
    app.inbox.show(subject)  # what is not there is refused before anybody is asked
    person = asked(invocation, by, "--by", "Who are you")
    return app, person, secret_of(invocation, person, secret_file)
