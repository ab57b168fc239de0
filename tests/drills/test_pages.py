"""What a terminal shows of a drill: all of it, whatever is in it, in 80 columns, and lines where there is no terminal."""

import io
import re
from typing import Any

from rich.console import Console

from counterfoil.cli.drill_pages import DrillProgress, drilled
from counterfoil.drills.case import Planned
from tests.drills.sample_report import BOUNDARIES, FAULTS, HOSTILE, case, report


def shown(data: dict[str, object], width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    drilled(console, data)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def planned(each: dict[str, Any]) -> Planned:
    return Planned(workflow="refund", boundary=each["boundary"], fault=each["fault"])


def test_the_matrix_the_reasons_and_the_sentence() -> None:
    text = shown(report(), 200)
    rows = [line.split() for line in text.splitlines() if line.strip().startswith("operation.replied#1 ")]
    assert rows == [["operation.replied#1", "✓", "✓", "✗", "⊘"]]
    for said in (
        "a   kill-before", "The receiver holds 2 records.", "It loses its keys and cannot be asked.", "not noticed",
        "refund-reply-lost", "counterfoil drill",
    ):  # fmt: skip
        assert said in text
    assert text.rstrip().endswith("✗ fail 15 cases: 12 passed, 1 failed, 1 not applicable, 1 not run, in 19 s.")
    assert "\x1b[31m" not in text and "\u202e" not in text and "\\u202e" in text


def test_a_whole_matrix_fits_a_terminal() -> None:
    cases = [case("operation.classified#1", f"fault-{n}") for n in range(27)]
    lines = shown(report(*cases, boundaries=["operation.classified#1"])).splitlines()
    assert next(line for line in lines if "operation.classified#1" in line).count("✓") == 27


def test_the_worst_of_a_cell_is_shown_and_the_unknown_is_bad() -> None:
    text = shown(report(case(BOUNDARIES[0], FAULTS[0]), case(BOUNDARIES[0], FAULTS[0], "fail")))
    assert re.search(r"run\.submitted#1 +✗", text)
    assert "✗ fail 1 case" in shown(report(case(BOUNDARIES[0], FAULTS[0], "odd")))


def test_nothing_that_failed_ends_with_a_pass() -> None:
    assert (
        shown(report(case("b#1", "f"), guards=[]))
        .rstrip()
        .endswith("✓ pass 1 case: 1 passed, 0 failed, 0 not applicable, 0 not run, in 1 s.")
    )


def test_without_a_terminal_there_is_a_line_for_each_failure() -> None:
    console = Console(file=io.StringIO(), width=200)
    with DrillProgress(console) as progress:
        progress.planned(2)
        for each in (case("b#1", "f"), case("b#1", "[bold]g", "fail", reasons=[HOSTILE])):
            progress.began(planned(each))
            progress.ended(each)
    assert isinstance(console.file, io.StringIO)
    (line,) = console.file.getvalue().splitlines()
    assert line.startswith("✗ fail refund/b#1/[bold]g: </style>")
    assert "\x1b[31m" not in line


def test_in_a_terminal_there_is_a_bar_with_what_is_played() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with DrillProgress(console) as progress:
        progress.planned(3)
        progress.began(planned(case("b#1", "[bold]g")))
        progress.ended(case("b#1", "[bold]g", "fail"))
    assert isinstance(console.file, io.StringIO)
    text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", console.file.getvalue())
    assert "1 failed" in text and "refund/b#1/[bold]g" in text and "1/3" in text
