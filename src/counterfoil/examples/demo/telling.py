"""How a story is told in a terminal: one line for each thing that happened, and a table at the end."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from counterfoil.examples.demo.processes import Crash
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.rules.recovery_cases import Case

if TYPE_CHECKING:
    from counterfoil.examples.demo.story import Plan

COLUMNS = 3  # what 80 characters hold


WIDE = 118  # columns


@dataclass(frozen=True, slots=True)
class Telling:
    """Colour is Rich's decision: it asks whether the stream is a terminal."""

    console: Console

    def opening(self, model: str, folder: Path) -> None:
        """Where things are."""
        self.console.print(Text(f"Everything happens in {folder}; the model is {model}.", "dim"), soft_wrap=True)

    def begin(self, plan: "Plan") -> None:
        """A headline."""
        self.console.print()
        self.console.print(Text(plan.title, "bold"), soft_wrap=True)

    def submitted(self, said: dict[str, Any], pid: int) -> None:
        """The request is stored."""
        self._line("submitted", f"{said['run_id']} ({said['admitted']}), by process {pid}")

    def worker(self, pid: int, *, again: bool) -> None:
        """A worker was started."""
        self._line("new worker" if again else "worker", f"process {pid}", "green" if again else "cyan")

    def approved(self, review: ReviewRecord, by: str, said: dict[str, Any], pid: int) -> None:
        """A person answered, at the command line."""
        typed = f"$ counterfoil reviews approve rev-{review.number} --digest {review.digest} --by {by}"
        self.console.print(Text(f"{'':<13}{typed}", "dim"), soft_wrap=True)
        self._line("approved", f"draft {review.proposal_version} by {by} ({said['decided']}), in process {pid}")

    def recovered(self, how: str, case: Case, witness: dict[str, Any]) -> None:
        """What moved the doubt, and what the receiver holds now."""
        self._line(how, f"case {case.letter}: {case.sentence} {_held(witness)}.", "green")

    def crashed(self, what: str, crash: Crash, witness: dict[str, Any]) -> None:
        """A process was killed, and what the receiver holds at that moment."""
        self._line("killed", f"process {crash.pid} ({what}) by SIGKILL at {crash.boundary}. {_held(witness)}.", "red")

    def refused(self, run: RunRecord) -> None:
        """The receiver refused for good."""
        self._line("refused", f"run-{run.number}: {run.sentence} Its owner has it taken up again.", "yellow")

    def rest(self, run: RunRecord) -> None:
        """The run ended, or waits for its owner."""
        if run.state is RunState.COMPLETED:
            self._line("completed", f"run-{run.number}: {run.sentence}", "green")
        elif run.state.ended:
            self._line(run.state.value, f"run-{run.number}: {run.sentence}", "red")
        else:
            self._line("parked", f"run-{run.number} as {run.reason}: {run.sentence}", "yellow")

    def closing(self, stories: list[dict[str, Any]], paths: dict[str, str], problems: list[str]) -> None:
        """Tables with one column a story."""
        for first in range(0, len(stories), COLUMNS):
            self._table(stories[first : first + COLUMNS])
        for story in stories:
            command = story["run"]["next_action"]["command"]
            if command is not None:
                who = story["run"]["next_action"]["who"]["name"] or "anybody"
                self.console.print(Text(f"{story['name']}: {who} goes on with", "bold"))
                self.console.print(Text(f"  {command}", "cyan"), soft_wrap=True)
        for problem in problems:
            self.console.print(Text(f"Not as it must be: {problem}", "bold red"))
        self.console.print(Text(f"Database {paths['db']}, log {paths['log']}", "dim"), soft_wrap=True)

    def console_open(self, address: str, number: int, person: str) -> None:
        """Where the run that waits for a person can be seen, and as whom."""
        self.console.print()
        self.console.print(Text(f"The console is open at run-{number}, signed in as {person}:", "bold"))
        self.console.print(Text(f"  {address}", "cyan"), soft_wrap=True)
        self.console.print(Text("Ctrl-C ends it.", "dim"))

    def _table(self, stories: list[dict[str, Any]]) -> None:
        table = Table(title="What is on record", title_justify="left")
        table.add_column("")
        for story in stories:
            table.add_column(story["name"], overflow="fold")
        rows = [_column(story) for story in stories]
        for label in rows[0]:
            table.add_row(Text(label, "bold"), *(Text(column[label]) for column in rows))
        self.console.print()
        if not self.console.is_terminal:
            self.console.width = max(self.console.width, WIDE)  # nobody set a width there: no word needs to be broken
        self.console.print(table)

    def _line(self, what: str, text: str, style: str = "cyan") -> None:
        self.console.print(Text.assemble((f"  {what:<11}", style), text), soft_wrap=True)


def _column(story: dict[str, Any]) -> dict[str, str]:
    run: dict[str, Any] = story["run"]
    operation: dict[str, Any] = story["operation"] or {}
    approval: dict[str, Any] = operation.get("approval") or {}
    receiver, model, crash = story["receiver"], story["model"], story["crash"]
    version, digest = operation.get("proposal_version"), operation.get("payload_digest")
    next_action = run["next_action"]
    return {
        "run": f"run-{run['number']} {run['state']}" + (f" ({run['reason']})" if run["reason"] else ""),
        "proposal": f"version {version}, {_short(digest)}" if operation else "none",
        "approval": f"{approval['state']} by {approval['reviewer']}" if approval else "none",
        "operation": f"op-{operation['number']} {operation['status']}" if operation else "none",
        "attempts": _attempts(operation),
        "killed": f"{crash['pid']} at {crash['boundary']}" if crash else "nobody",
        "recovered": _recovered(story),
        "receiver's own records": f"{receiver['records']} {' '.join(receiver['record_ids'])}".strip(),
        **{f"records of {name}": str(other["records"]) for name, other in receiver.get("others", {}).items()},
        "requests there": str(receiver["requests"]),
        "model": f"{model['requests']} asked, {model['decisions']} decided, {model['lost']} lost",
        "outcome": story["outcome"],
        "who is next": next_action["who"]["name"] or next_action["who"]["kind"],
        "until": next_action["deadline_at"] or "no time",
        "next action": next_action["code"],
    }


def _recovered(story: dict[str, Any]) -> str:
    recovery = story["recovery"]
    case = f", case {recovery['case']}" if recovery["case"] else ""
    if recovery["pid"] is None:
        return f"{recovery['how']}{case}"
    return f"by process {recovery['pid']}: {recovery['how']}{case}"


def _attempts(operation: dict[str, Any]) -> str:
    attempts = operation.get("attempts", [])
    said = ", ".join(str(a["answer"]["status"] or "no answer") if a["answer"] else "no answer" for a in attempts)
    return f"{len(attempts)}" + (f" ({said})" if said else "")


def _held(witness: dict[str, Any]) -> str:
    held = "an unknown number of" if witness["records"] is None else witness["records"]
    return f"The receiver holds {held} record{'' if held == 1 else 's'}"


def _short(digest: str | None) -> str:
    return "" if digest is None else digest[: len("sha256:") + 12]
