"""The tree of commands."""

from functools import cache
from typing import Annotated, Any

import typer

from counterfoil.cli import (
    checks,
    demo,
    deploy,
    drill,
    explain,
    explore,
    guards,
    init,
    looking,
    metrics,
    money,
    receivers_drill,
    receivers_new,
    receivers_pause,
    receivers_probe,
    sandbox,
    schema,
    serve,
    simulate,
    submit,
    worker,
)
from counterfoil.cli.audit import audit
from counterfoil.cli.backup import backup
from counterfoil.cli.budgets import budgets
from counterfoil.cli.chat import command as chat
from counterfoil.cli.command import Group
from counterfoil.cli.conversations import conversations
from counterfoil.cli.database import database
from counterfoil.cli.decisions import decisions
from counterfoil.cli.inbox import inbox
from counterfoil.cli.incidents import incidents
from counterfoil.cli.keys import keys
from counterfoil.cli.money import reconcile
from counterfoil.cli.operations import operations
from counterfoil.cli.people import people
from counterfoil.cli.receipts import receipts
from counterfoil.cli.receivers import receivers
from counterfoil.cli.restore import restore
from counterfoil.cli.reviews import reviews
from counterfoil.cli.roles import roles
from counterfoil.cli.rules import rules
from counterfoil.cli.runs import runs
from counterfoil.cli.signals import signals
from counterfoil.cli.tokens import tokens
from counterfoil.cli.waivers import waivers
from counterfoil.cli.working_context import documents
from counterfoil.cli.writes import writes

ABOUT = (
    """A ledger for every write that an agent makes: each approved action happens once, or stands visibly unresolved."""
)


def version_asked(asked: bool) -> None:
    """`--version`."""
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"counterfoil {version('counterfoil')}")
        except PackageNotFoundError:
            typer.echo("counterfoil, from a folder that is not installed")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=version_asked, is_eager=True, help="Say the version.")]


@cache
def root() -> typer.Typer:
    """All commands of this release."""
    top = Group(typer.Typer(help=ABOUT, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False))

    @top.typer.callback()
    def everywhere(version: Version = False) -> None:
        del version

    for each in (init, submit, worker, serve, chat):
        each.add_to(top)
    for noun in (
        runs,
        operations,
        reviews,
        decisions,
        conversations,
        documents,
        inbox,
        audit,
        people,
        roles,
        tokens,
        keys,
        reconcile,
        signals,
        incidents,
        receipts,
        writes,
        waivers,
        budgets,
        restore,
        backup,
        database,
        deploy.deploy,
    ):
        top.typer.add_typer(noun.typer, name=noun.noun)
    for each in (looking, metrics, money, explain):
        each.add_to(top)
    for each in (receivers_new, receivers_probe, receivers_pause, receivers_drill):
        each.add_to(receivers)
    for noun in (looking.workers, looking.duties, rules, receivers):
        top.typer.add_typer(noun.typer, name=noun.noun)
    for each in (guards, checks, deploy, sandbox, demo, drill, simulate, explore, schema):
        each.add_to(top)
    return top.typer


@cache
def command() -> Any:
    """The same, as what reads a command line. Made once: that takes longer than most commands."""
    return typer.main.get_command(root())
