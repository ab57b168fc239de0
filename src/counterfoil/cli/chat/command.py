"""`counterfoil chat`: its options. What it does is loaded when it is called."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import SecretFile
from counterfoil.cli.submit import FAILED, WAITS
from counterfoil.cli.tables import sentence
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.app import App
    from counterfoil.cli.chat.talk import Options

SHAPE = "{conversation, agent, turns:[{request_id, run_id, number, turn, admitted, state, reason, sentence, result, next_action:NEXT}]}"


def left(console: "Console", data: Any) -> None:
    """How to come back."""
    if data["conversation"] is not None:
        sentence(console, f"counterfoil chat {data['agent']} --conversation {data['conversation']} goes on here.")


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("chat", data=SHAPE, shows=left, also=(FAILED, WAITS))
    def chat(  # noqa: PLR0913 - an option each
        invocation: Invocation,
        agent: Annotated[str, typer.Argument(metavar="AGENT", help="Its name in the application.")],
        conversation: Annotated[
            str | None,
            typer.Option("--conversation", metavar="NAME", help="Go on in this one, or begin it; else a new one."),
        ] = None,
        by: Annotated[str | None, typer.Option("--by", metavar="PERSON", help="Who speaks; it is recorded.")] = None,
        reviewer: Annotated[
            str | None,
            typer.Option("--as", metavar="PERSON", help="Who answers reviews here; else --by, else asked for."),
        ] = None,
        secret_file: SecretFile = None,
        worker: Annotated[
            bool,
            typer.Option(
                "--worker",
                help="Drive the turns here, whoever else does; else only where nobody does, and the database is a local file.",
            ),
        ] = False,
        no_worker: Annotated[
            bool, typer.Option("--no-worker", help="Drive no runs here; a worker elsewhere does.")
        ] = False,
        request_id: Annotated[
            str | None,
            typer.Option(
                "--request-id",
                metavar="ID",
                help="For scripts: the n-th message is ID-n; run again, nothing is sent twice.",
            ),
        ] = None,
    ) -> Any:
        """Talk to an agent: answers as they are made, tool calls, reviews answered in place. In a pipe each line is a message.

        In a pipe: exit 5 when a turn waits for a person, 1 when the last one failed.
        """
        if worker and no_worker:
            raise Refused("usage", problem="give --worker or --no-worker, not both")
        app = invocation.with_code()
        from counterfoil.cli.chat.talk import Options

        options = Options(
            agent, conversation, by, reviewer, secret_file, worker or (False if no_worker else None), request_id
        )
        return awaited(_chat(invocation, app, options))


async def _chat(invocation: Invocation, app: "App", options: "Options") -> Answer:
    from counterfoil.cli.chat.session import Session
    from counterfoil.cli.chat.words import handle

    session = Session(invocation, app, options)
    status = await session.run(handle)
    return Answer(session.talk.data(), status)
