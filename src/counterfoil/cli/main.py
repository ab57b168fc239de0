"""The entry point: read the command line, run one command, answer in one form, end with one status."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from typing import Any

import typer

from counterfoil.cli import failures
from counterfoil.cli.envelope import text_of
from counterfoil.cli.streams import Streams
from counterfoil.cli.tree import command

INTERRUPTED = 128 + signal.SIGINT
LONGEST = 100_000  # characters of one argument; more belongs into a file


def run() -> None:
    """`counterfoil`."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] - shown, rather than a crash
    status = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _nobody_reads()
    raise SystemExit(status)


def main(argv: Sequence[str]) -> int:
    """Run one command and give its exit status. Raises nothing."""
    streams = Streams.of_process(json="--json" in argv)
    try:
        with redirect_stdout(streams.err):
            return _run(argv, streams)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _nobody_reads()
        return 0  # whoever read has seen enough
    except typer.Abort:
        return INTERRUPTED
    except Exception as problem:
        return _failed(problem, streams)


def _run(argv: Sequence[str], streams: Streams) -> int:
    refused = _unreadable(argv)
    if refused is not None:
        return _give(failures.usage(refused), streams)
    try:
        with redirect_stdout(streams.out) if _asks_for_help(argv) else redirect_stdout(streams.err):
            status: Any = command().main(list(argv), prog_name="counterfoil", standalone_mode=False, obj=streams)
        return status if isinstance(status, int) else 0
    except typer.TyperException as problem:
        return _give(failures.usage(_usage_text(problem, streams)), streams)


def _failed(problem: Exception, streams: Streams) -> int:
    try:
        return _give(failures.failure_of(problem, streams), streams)
    except BrokenPipeError:
        _nobody_reads()
        return failures.failure_of(problem, streams).status


def _give(failed: failures.Failure, streams: Streams) -> int:
    if streams.json:
        streams.out.write(text_of(failed.document(streams.command)))
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
    return not argv or bool({"--help", "--version"} & set(argv))


def _nobody_reads() -> None:
    """Stdout's reader is gone: later flushes, Python's own at its end too, must not complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
