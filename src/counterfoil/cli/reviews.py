"""`counterfoil reviews`."""

from datetime import timedelta
from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Cursor, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of

reviews = group("reviews", "What people are asked, and what they answer.")

Which = Annotated[str, typer.Argument(metavar="REV", help="An id, a unique start of it, a number, or rev-NUMBER.")]
Digest = Annotated[
    str, typer.Option("--digest", metavar="D", help="The digest that you have read; another is refused.")
]
Comment = Annotated[str, typer.Option("--comment", metavar="TEXT", help="Kept with the answer.")]
Revision = Annotated[bool, typer.Option("--ask-revision", help="The operation stays prepared for its next version.")]
ANSWERED = "{review_id, state, decided: now|earlier, run_id, operation_id}"


@reviews.command("list", data="{items:[REVIEW without payload and sources], next_cursor}", shows=pages.reviews)
def list_reviews(
    invocation: Invocation,
    state: Annotated[str | None, typer.Option(help="open, approved, rejected, expired, superseded.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List reviews, newest first."""
    return invocation.app().reviews.list(state=state, cursor=cursor, limit=limit)


@reviews.command("show", data="REVIEW", shows=pages.review)
def show(invocation: Invocation, review: Which) -> Any:
    """Show a review: the payload as it would leave, its sources, and how to answer."""
    return invocation.app().reviews.show(review)


@reviews.command("approve", data=ANSWERED, shows=pages.answered)
def approve(
    invocation: Invocation,
    review: Which,
    digest: Digest,
    by: Person = None,
    comment: Comment = "",
    secret_file: SecretFile = None,
) -> Any:
    """Approve exactly this digest, once."""
    app = invocation.app()
    app.reviews.show(review)  # an unknown one is refused before anybody is asked
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(app.reviews.approve(review, digest=digest, by=person, secret=secret, comment=comment))


@reviews.command("reject", data=ANSWERED, shows=pages.answered)
def reject(
    invocation: Invocation,
    review: Which,
    digest: Digest,
    by: Person = None,
    comment: Comment = "",
    ask_revision: Revision = False,
    secret_file: SecretFile = None,
) -> Any:
    """Reject this digest; with --ask-revision the next version is asked for."""
    app = invocation.app()
    app.reviews.show(review)  # an unknown one is refused before anybody is asked
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(
        app.reviews.reject(review, digest=digest, by=person, secret=secret, comment=comment, ask_revision=ask_revision)
    )


@reviews.command("link", data="{link_id, review_id, for, digest, expires_at, path, link}", shows=pages.record)
def link(
    invocation: Invocation,
    review: Which,
    for_: Annotated[
        str, typer.Option("--for", metavar="PERSON", help="A person or a role; nobody else may follow it.")
    ],
    hours: Annotated[
        int, typer.Option("--hours", min=1, max=720, help="How long at most; never beyond the review.")
    ] = 24,
) -> Any:
    """Make a signed link to this version, for one answer of each person it is for. It needs the approval key, and gives no right."""
    return invocation.app().reviews.link(review, for_=for_, lifetime=timedelta(hours=hours))


@reviews.command("withdraw", data="{review_id, state, decided: now|earlier}", shows=pages.answered)
def withdraw(
    invocation: Invocation,
    review: Which,
    by: Person = None,
    comment: Comment = "",
    ask_revision: Revision = False,
    secret_file: SecretFile = None,
) -> Any:
    """Take an approval back, until the first attempt."""
    app = invocation.app()
    app.reviews.show(review)  # an unknown one is refused before anybody is asked
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(app.reviews.withdraw(review, by=person, secret=secret, comment=comment, ask_revision=ask_revision))
