"""The entry point: read the command line, run one command, answer in one form, end with one status."""

import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from typing import Any, TextIO

import typer

from counterfoil.cli import failures
from counterfoil.cli.drill_mutating import spelled
from counterfoil.cli.envelope import text_of
from counterfoil.cli.streams import Streams, Unwritten
from counterfoil.cli.tree import command
from counterfoil.model.errors import CounterfoilError
from counterfoil.settings import value_of

INTERRUPTED = 128 + signal.SIGINT
UNWRITTEN = 3
LONGEST = 100_000  # characters of one argument; more belongs into a file


def run() -> None:
    """`counterfoil`."""
    _make_writable()
    status = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as problem:
        status = _unwritten(Unwritten(problem), sys.stderr) or status
    if "asyncio" not in sys.modules:  # nothing ran that could hang, and `--help` loads neither
        raise SystemExit(status)
    from counterfoil.engine.ending import leave

    leave(status)


def _make_writable() -> None:
    """A closed stream takes everything, and what a stream's encoding lacks is shown as an escape: neither is a crash."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main(argv: Sequence[str]) -> int:
    """Run one command and give its exit status. Raises nothing."""
    argv = list(argv) or ["--help"]
    streams = Streams.of_process(json="--json" in argv)
    try:
        return _carried_out(argv, streams)
    except Unwritten as problem:
        return _unwritten(problem, streams.err)


def _carried_out(argv: Sequence[str], streams: Streams) -> int:
    try:
        with redirect_stdout(streams.err):
            return _run(argv, streams)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # Typer, while it showed its help
            raise Unwritten(ended.__context__) from ended
        problem = CounterfoilError("defect", problem=f"code of the application ended the process: {ended!r}")
        return _give(failures.failure_of(problem, streams), streams)
    except Unwritten:
        raise
    except Exception as problem:
        return _give(failures.failure_of(problem, streams), streams)


def _run(argv: Sequence[str], streams: Streams) -> int:
    refused = _unreadable(argv)
    if refused is not None:
        return _give(failures.usage(refused), streams)
    form = value_of("COUNTERFOIL_LOG")
    if form:
        from counterfoil.app.logs import set_up

        set_up(form, streams.err)
    try:
        with redirect_stdout(streams.out) if _asks_for_help(argv) else redirect_stdout(streams.err):
            status: Any = command().main(spelled(argv), prog_name="counterfoil", standalone_mode=False, obj=streams)
        return status if isinstance(status, int) else 0
    except typer.TyperException as problem:
        return _give(failures.usage(_usage_text(problem, streams)), streams)


def _give(failed: failures.Failure, streams: Streams) -> int:
    if streams.json:
        streams.say(text_of(failed.document(streams.command)))
    else:
        failures.show(failed, streams)
    return failed.status


def _unreadable(argv: Sequence[str]) -> str | None:
    """What is wrong with an argument before anybody looks at its meaning."""
    for n, argument in enumerate(argv, start=1):
        if "\0" in argument:
            return f"argument {n} holds a zero byte"
        if len(argument) > LONGEST:
            return f"argument {n} has {len(argument)} characters; the limit is {LONGEST}"
        try:
            argument.encode()
        except UnicodeEncodeError:
            return f"argument {n} is not UTF-8"
    return None


def _usage_text(problem: Any, streams: Streams) -> str:
    """One sentence, and the command it is about."""
    context = getattr(problem, "ctx", None)
    if context is not None:
        streams.command = context.command_path
    said = " ".join(problem.format_message().split()).rstrip(".")
    return f"{said}. See `{context.command_path} --help`" if context is not None else said


def _asks_for_help(argv: Sequence[str]) -> bool:
    return bool({"--help", "--version"} & set(argv))


def _unwritten(problem: Unwritten, err: TextIO) -> int:
    """Whoever went away has read enough. What is not written otherwise is not said: no script may take it for an answer."""
    # Later flushes, Python's own at its end too, must not complain again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    if problem.gone:
        return 0
    err.write(f"error: standard output cannot be written: {problem}\n")
    return UNWRITTEN
