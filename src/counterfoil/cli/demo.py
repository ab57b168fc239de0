"""`counterfoil demo`: read its options; the stories are told by the examples, which stand above this layer."""

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import Answer, Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.worker import nothing
from counterfoil.model.errors import CounterfoilError

if TYPE_CHECKING:
    from rich.console import Console

STORIES = "counterfoil.examples.demo.main"
FAULTS = ("drop-reply", "error-after-accept", "hang", "refuse", "slow")
INSTALL = "pip install 'counterfoil[demo]'"
FOUND = 1


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What `run_demo` is given. None: not said. `console`: where the story is told (stderr with --json)."""

    name: str
    receiver: str | None
    receiver_url: str | None
    crash_at: str | None
    fault: str | None
    input: str | None
    engine: str
    keep: str | None
    console: "Console"
    serve: int | None
    db: str | None


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("demo", data="{stories:[STORY], paths:{db, log}}", shows=nothing, also=(FOUND,))
    def demo(  # noqa: PLR0913 - each is an option of the command
        invocation: Invocation,
        name: Annotated[
            str, typer.Argument(metavar="[onboarding|refund|support]", help="Which example.")
        ] = "onboarding",
        receiver: Annotated[
            str | None, typer.Option(help="Story 1 alone, against this kind: key, lookup, none.")
        ] = None,
        receiver_url: Annotated[
            str | None,
            typer.Option(metavar="URL", help="Story 1 alone, against a receiver of yours that runs already."),
        ] = None,
        crash_at: Annotated[
            str | None, typer.Option(metavar="BOUNDARY", help="Story 1 alone, killed at this boundary; or none.")
        ] = None,
        fault: Annotated[
            str | None, typer.Option(metavar="F", help=f"Story 1 alone, with one of {', '.join(FAULTS)}.")
        ] = None,
        folder: Annotated[
            str | None, typer.Option("--input", metavar="DIR", help="Customer documents of yours.")
        ] = None,
        engine: Annotated[str, typer.Option(help="embedded or temporal.")] = "embedded",
        keep: Annotated[
            str | None, typer.Option(metavar="DIR", help="Where its files are kept; else a temporary folder.")
        ] = None,
        show: Annotated[
            bool, typer.Option("--console", help="Then serve the console, open at the run that waits for a person.")
        ] = False,
        port: Annotated[
            int, typer.Option(min=0, max=65535, help="With --console: the port; a free one where it is taken.")
        ] = 8765,
    ) -> Any:
        """Run the main example, kill it, recover it, and show what the receiver holds. No keys, no network."""
        console = invocation.streams.progress()
        options = DemoOptions(
            name, receiver, receiver_url, crash_at, fault, folder, engine, keep, console, port if show else None,
            invocation.db,
        )  # fmt: skip
        data: dict[str, Any] = _stories()(options)
        return Answer(data, 0 if data.pop("as_expected", True) else FOUND)


def _stories() -> Any:
    try:
        return importlib.import_module(STORIES).run_demo
    except ModuleNotFoundError as problem:
        tool = f"the Python package {problem.name}"
        raise CounterfoilError("tool_missing", tool=tool, install=f"Install it: {INSTALL}") from problem
