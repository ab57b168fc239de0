"""From what was raised to an error that a person can act on, and an exit status."""

import errno
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil.cli.envelope import Document, failure
from counterfoil.cli.streams import Streams
from counterfoil.model.errors import CounterfoilError

DEBUG = "COUNTERFOIL_DEBUG"


@dataclass(frozen=True, slots=True)
class Failure:
    """What is shown, and the status the process ends with."""

    code: str
    message: str
    safe_next: str
    status: int
    details: dict[str, Any]

    def document(self, command: str | None) -> Document:
        """As JSON."""
        return failure(self.code, self.message, self.safe_next, command, self.details)


def failure_of(problem: BaseException, streams: Streams) -> Failure:
    """A refusal stays what it is. What the system refused (a file, a disk) is named; the rest is our defect, and logged."""
    if isinstance(problem, CounterfoilError):
        return _of_error(problem)
    if isinstance(problem, OSError) and problem.errno == errno.ENOSPC:
        return _of_error(CounterfoilError("disk_full", problem=_said(problem)))
    if isinstance(problem, OSError) and problem.filename is not None:
        return _of_error(CounterfoilError("usage", problem=_said(problem)))
    log = _logged(problem, streams)
    said = f"{type(problem).__name__}: {problem}"
    return _of_error(CounterfoilError("defect", problem=said, log=None if log is None else str(log)))


def usage(problem: str) -> Failure:
    """What does not fit the command line."""
    return _of_error(CounterfoilError("usage", problem=problem))


def show(failed: Failure, streams: Streams) -> None:
    """On stderr: what happened, what is safe to do next, and the code."""
    from rich.text import Text

    from counterfoil.cli.tables import plain

    lines = Text()
    lines.append("refused: " if failed.status == 3 else "error: ", style="bold red")
    lines.append(plain(failed.message))
    if failed.safe_next:
        lines.append("\nnext: ", style="bold")
        lines.append(plain(failed.safe_next))
    lines.append(f"\n({failed.code}, exit {failed.status})", style="dim")
    if failed.details.get("log"):
        lines.append(f"\nlog: {plain(failed.details['log'])}", style="dim")
    streams.notes().print(lines)


def _of_error(error: CounterfoilError) -> Failure:
    return Failure(error.code, error.message, error.safe_next, error.exit_status, error.details)


def _said(problem: OSError) -> str:
    what = problem.strerror or type(problem).__name__
    return f"{what}: {problem.filename}" if problem.filename is not None else what


def _logged(problem: BaseException, streams: Streams) -> Path | None:
    """The traceback goes beside the database, never to a user's terminal unless they ask for it. None: nowhere to write."""
    from counterfoil import settings
    from counterfoil.app.located import located
    from counterfoil.engine.clock import SystemClock

    text = "".join(traceback.format_exception(problem))
    if settings.environment().get(DEBUG):
        streams.err.write(text)
    try:
        database = located(streams.database).beside.absolute()
        log = database.with_name(database.name + ".log")
        if not database.is_file():  # nothing of ours is there to put a log beside
            log = settings.state_folder() / "counterfoil.log"
            log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"at {SystemClock().now_us()} us: {streams.command}\n{text}\n")
    except (OSError, ValueError, CounterfoilError):
        return None
    return log
