"""What a person sees of a drill: a bar while it runs, then the matrix, what is wrong, and the sentence."""

from collections.abc import Mapping, Sequence
from string import ascii_letters
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from counterfoil.cli.tables import fields, heading, plain, sentence, table
from counterfoil.drills.html.evidence import VERDICTS
from counterfoil.drills.html.matrix import columns_of, groups_of, rows_of
from counterfoil.drills.html.page import sentence_of
from counterfoil.drills.html.parts import list_at, object_at

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from counterfoil.drills.case import Planned

Case = Mapping[str, Any]
COLOURS = {"fail": "bold red", "pass": "green", "not_applicable": "dim", "not_run": "yellow"}
UNKNOWN = ("?", "unknown verdict")


class DrillProgress:
    """A bar on stderr while cases are played, and a line for each that fails, at once. Without a terminal only the lines."""

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._failed, self._counting = 0, Lock()  # several players tell
        self._console = console
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[said]}"), TimeElapsedColumn())
        self._bar: Progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self._line = self._bar.add_task("", total=None, said="a clean run")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def planned(self, cases: int) -> None:
        """So many cases are going to be played."""
        self._bar.update(self._line, total=cases, said="")

    def began(self, planned: "Planned") -> None:
        """This one is being played."""
        self._bar.update(self._line, said=self._said(plain(planned.case_id)))

    def ended(self, case: Case) -> None:
        """This is what became of it."""
        if case["verdict"] == "fail":
            with self._counting:
                self._failed += 1
            reasons = list_at(case, "reasons")
            said = f"{plain(case['case_id'])}: {plain(reasons[0]) if reasons else ''}"
            self._console.print(_marked("fail").append(f" {said}", style="none"))
        self._bar.update(self._line, advance=1, said=self._said(plain(case["case_id"])))

    def _said(self, case_id: str) -> str:
        from rich.markup import escape

        failed = f"[bold red]{self._failed} failed[/] " if self._failed else ""
        return failed + escape(case_id)


def drilled(console: "Console", data: Mapping[str, Any]) -> None:
    """The whole report, shortly; the sentence comes last, where a terminal stands still."""
    cases: Sequence[Case] = data["cases"]
    versions = {name: _said_shortly(each) for name, each in object_at(data, "versions").items() if name != "contracts"}
    fields(console, {"target": data["target"], "digest": data.get("target_digest"), **versions})
    if cases:
        _matrix(console, data)
    _named(console, cases)
    _wrong(console, cases)
    _left_out(console, cases)
    guards(console, list_at(data, "guards"))
    if data.get("registered"):
        heading(console, "registered")
        _registered(console, data["registered"])
    if data.get("kept"):
        sentence(
            console, f"The ledgers of the unresolved cases are kept in {data['kept']}, so that their commands work."
        )
    console.print()
    failed = any(case["verdict"] not in VERDICTS or case["verdict"] == "fail" for case in cases)
    failed = failed or any(not each["caught_by"] for each in list_at(data, "guards"))
    console.print(_marked("fail" if failed else "pass"), sentence_of(data["summary"]))


def _said_shortly(version: Any) -> Any:
    return ", ".join(f"{name} {each}" for name, each in version.items()) if isinstance(version, dict) else version  # pyright: ignore[reportUnknownVariableType]


def guards(console: "Console", found: Sequence[Mapping[str, Any]]) -> None:
    """Protections that were taken away, and how many cases noticed."""
    if not found:
        return
    heading(console, "protections taken away")
    rows = [
        (each["guard"], "noticed" if each["caught_by"] else "not noticed", _first(each["caught_by"])) for each in found
    ]
    table(console, ("guard", "verdict", "by"), rows, empty="")


def _matrix(console: "Console", data: Mapping[str, Any]) -> None:
    """A letter for each fault, since the names of all would be wider than any terminal; below it what each letter is."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cases: Sequence[Case] = data["cases"]
    faults = columns_of(cases)
    letters = {fault: ascii_letters[n % len(ascii_letters)] for n, fault in enumerate(faults)}
    for name, numbered in groups_of(enumerate(cases)).items():
        mine = [case for _, case in numbered]
        drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=0)
        drawn.add_column(plain(name), no_wrap=True)
        for fault in faults:
            drawn.add_column(letters[fault], no_wrap=True)
        for row in rows_of(list_at(data, "boundaries"), mine):
            here = [case for case in mine if case["boundary"] == row]
            cells = ([case["verdict"] for case in here if case["fault"] == fault] for fault in faults)
            drawn.add_row(plain(row), *map(_cell, cells))
        console.print(drawn)
    rows = [(letters[fault], fault, *_counts([case for case in cases if case["fault"] == fault])) for fault in faults]
    table(console, ("", "fault", *(f"{mark} {word}" for mark, word in VERDICTS.values())), rows, empty="")
    console.print(Text("An empty cell: the fault does not apply there.", style="dim"))


def _cell(verdicts: Sequence[str]) -> "Text":
    """The worst of a cell."""
    from rich.text import Text

    if not verdicts:
        return Text("")
    worst = next((each for each in VERDICTS if each in verdicts), "fail")
    return Text(VERDICTS.get(worst, UNKNOWN)[0], style=COLOURS.get(worst, ""))


def _counts(cases: Sequence[Case]) -> list[str]:
    counted = [sum(case["verdict"] == verdict for case in cases) for verdict in VERDICTS]
    return [str(count) if count else "" for count in counted]


def _named(console: "Console", cases: Sequence[Case]) -> None:
    found = [case for case in cases if case.get("name")]
    if found:
        heading(console, "named drills")
        rows = [
            (
                case["name"],
                case["verdict"].replace("_", " "),
                case.get("outcome"),
                object_at(case, "receiver").get("records"),
            )
            for case in found
        ]
        table(console, ("name", "verdict", "outcome", "records at the receiver"), rows, empty="")


def _wrong(console: "Console", cases: Sequence[Case]) -> None:
    from rich.text import Text

    for case in cases:
        if case["verdict"] == "fail":
            heading(console, f"{case['case_id']}" + (f" ({case['name']})" if case.get("name") else ""))
            for reason in list_at(case, "reasons"):
                sentence(console, f"- {reason}")
            console.print(Text(f"  {plain(case.get('repeat'))}", style="bold cyan"), soft_wrap=True)


def _left_out(console: "Console", cases: Sequence[Case]) -> None:
    """Each reason once, with how many cases it is for."""
    counted: dict[tuple[str, str, str], int] = {}
    for case in cases:
        if case["verdict"] in ("not_applicable", "not_run"):
            key = (case["verdict"].replace("_", " "), case["fault"], "; ".join(map(str, list_at(case, "reasons"))))
            counted[key] = counted.get(key, 0) + 1
    if counted:
        heading(console, "left out")
        rows = [(verdict, fault, count, why) for (verdict, fault, why), count in counted.items()]
        table(console, ("verdict", "fault", "cases", "why"), rows, empty="")


def _registered(console: "Console", registered: Any) -> None:
    for each in cast("list[Any]", registered if isinstance(registered, list) else [registered]):
        named = cast("dict[str, Any]", each if isinstance(each, dict) else {"": each})
        sentence(console, "- " + ", ".join(f"{name} {value}".strip() for name, value in named.items()))


def _marked(verdict: str) -> "Text":
    from rich.text import Text

    mark, word = VERDICTS.get(verdict, UNKNOWN)
    return Text(f"{mark} {word}", style=COLOURS.get(verdict, ""))


def _first(caught_by: Sequence[str]) -> str:
    rest = len(caught_by) - 1
    return "-" if not caught_by else f"{caught_by[0]}" + (f" and {rest} more" if rest > 0 else "")
