"""How a command is declared: its own parameters, and those that every command has."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from counterfoil.cli.envelope import success, text_of, warning
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.streams import Streams

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, and never a question.")]
Db = Annotated[
    str | None, typer.Option("--db", metavar="URL", help="The database; else COUNTERFOIL_DB, else ./counterfoil.db.")
]
Code = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:NAME", help="The application; else COUNTERFOIL_APP, else counterfoil.toml."),
]
EVERYWHERE = {"json": Json, "db": Db, "app": Code}

Show = Callable[[Any, Any], None]  # (rich console, data): what a person sees
LARGEST = 2**53 - 1  # what a JSON reader of any language keeps exact, and a database takes

Cursor = Annotated[
    int | None, typer.Option("--cursor", min=0, max=LARGEST, help="Go on where `next_cursor` of the page before says.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=500, help="How many at most.")]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found. `status` is not 0 where a check found something, or a run waits for a person."""

    data: Any
    status: int = 0
    warnings: Sequence[dict[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """A command as `schema` and the reference page name it. `data` is the shape of the answer, `also` other statuses."""

    words: str
    about: str
    data: str
    also: Sequence[int] = ()


DECLARED: dict[str, Declared] = {}


@dataclass(frozen=True, slots=True)
class Group:
    """Commands below one noun; the root's noun is empty."""

    typer: typer.Typer
    noun: str = ""
    nouns: list[str] = field(default_factory=lambda: [])

    def command(
        self, name: str, *, data: str, shows: Show, also: Sequence[int] = ()
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a function of an `Invocation` and its own parameters. It gives the data, or an `Answer`."""
        words = f"{self.noun} {name}".strip()

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            about = inspect.getdoc(function) or ""
            DECLARED[words] = Declared(words, about, data, also)
            self.typer.command(name, help=about)(_wrapped(function, words, shows))
            return function

        return register


def group(noun: str, about: str) -> Group:
    """A noun with commands of its own."""
    return Group(typer.Typer(help=about, no_args_is_help=False, rich_markup_mode=None, add_completion=False), noun)


def _wrapped(function: Callable[..., Any], words: str, shows: Show) -> Callable[..., None]:
    def call(ctx: typer.Context, **given: Any) -> None:
        streams: Streams = ctx.obj
        streams.command = f"counterfoil {words}"
        everywhere = {name: given.pop(name) for name in EVERYWHERE}
        streams.json = streams.json or everywhere["json"]
        streams.interactive = streams.interactive and not streams.json
        with Invocation(words, streams, everywhere["db"], everywhere["app"]) as invocation:
            answered = function(invocation, **given)
        answer: Answer = answered if isinstance(answered, Answer) else Answer(answered)
        _give(invocation, answer, shows)
        raise typer.Exit(answer.status)

    own = list(inspect.signature(function).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, keyword, default=False if name == "json" else None, annotation=annotation)
        for name, annotation in EVERYWHERE.items()
    ]
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *(each.replace(kind=keyword) for each in own), *added]
    # Typer reads both the signature and the annotations of what it is given.
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def _give(invocation: Invocation, answer: Answer, shows: Show) -> None:
    streams = invocation.streams
    warnings = [*invocation.warnings, *answer.warnings]
    if streams.json:
        streams.say(text_of(success(invocation.words, answer.data, warnings)))
        return
    from rich.text import Text

    from counterfoil.cli.tables import plain

    for each in warnings:
        streams.notes().print(Text.assemble(("warning: ", "bold yellow"), plain(each["message"])))
    streams.draw(lambda console: shows(console, answer.data))


__all__ = ["DECLARED", "Answer", "Cursor", "Declared", "Group", "Limit", "group", "warning"]
