"""`counterfoil sandbox`."""

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from counterfoil.cli.command import Group
from counterfoil.cli.documents import read_json
from counterfoil.cli.envelope import success, text_of
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.streams import Streams
from counterfoil.cli.worker import nothing
from counterfoil.model.errors import Refused


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("sandbox", data="{url, control_url, pid, records_file}", shows=nothing)
    def sandbox(
        invocation: Invocation,
        kind: Annotated[
            str | None, typer.Option(help="key, lookup, none, or a letter of the catalogue, A to J.")
        ] = None,
        contract: Annotated[str | None, typer.Option(metavar="FILE", help="JSON: the contract it keeps.")] = None,
        fault: Annotated[str | None, typer.Option(metavar="F[:COUNT]", help="Armed for the first writes.")] = None,
        port: Annotated[int, typer.Option(min=0, max=65535, help="On 127.0.0.1; 0 takes a free one.")] = 0,
        records: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Keeps the records; else a temporary file.")
        ] = None,
    ) -> Any:
        """Serve a receiver that keeps a contract, until standard input closes. Its address is printed when it is ready."""
        from counterfoil.testing.sandbox import SandboxContract, contract_of_kind, serve

        if (kind is None) == (contract is None):
            raise Refused("usage", problem="name exactly one of --kind and --contract")
        content = None if contract is None else read_json(contract, what="the contract")
        try:
            kept = contract_of_kind(kind) if kind is not None else SandboxContract.from_json(content)
            with redirect_stdout(_Ready(invocation.streams)):
                serve(kept, fault=fault, port=port, records=records)
        except (ValueError, OverflowError) as problem:
            raise Refused("usage", problem=str(problem)) from problem
        except OSError as problem:
            raise Refused("usage", problem=f"the sandbox cannot serve: {problem.strerror}") from problem
        raise typer.Exit


class _Ready(io.TextIOBase):
    """Stdout of the server: its one line, in the envelope where JSON was asked for."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    def write(self, text: str) -> int:
        """The server writes its line in one piece. It must arrive while the server lives."""
        self._streams.say(text_of(success("sandbox", json.loads(text))) if self._streams.json else text)
        return len(text)
