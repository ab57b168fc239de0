"""The matrix: boundaries down, in the order in which the clean run passed them, faults across."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from counterfoil.drills.html.evidence import anchor_of, verdict_of, word_of
from counterfoil.drills.html.markup import Markup, element, joined

Case = Mapping[str, Any]
Numbered = tuple[int, Case]


def rows_of(boundaries: Iterable[Any], cases: Sequence[Case]) -> list[str]:
    """The boundaries that a case has, first those that the report lists, in its order."""
    used = dict.fromkeys(str(case["boundary"]) for case in cases)
    listed = dict.fromkeys(name for each in boundaries if (name := _name(each)) in used)
    return list(listed | used)


def columns_of(cases: Sequence[Case]) -> list[str]:
    """The faults, in the order in which the report first names them."""
    return list(dict.fromkeys(str(case["fault"]) for case in cases))


def group_of(case: Case) -> str:
    """The workflow, and the scenario where it has several: what a case's id has before its boundary."""
    return str(case["case_id"]).partition(f"/{case['boundary']}/")[0]


def groups_of(numbered: Iterable[Numbered]) -> dict[str, list[Numbered]]:
    """Cases by workflow and scenario, which have a matrix each."""
    found: dict[str, list[Numbered]] = {}
    for number, case in numbered:
        found.setdefault(group_of(case), []).append((number, case))
    return found


def matrix(boundaries: Iterable[Any], numbered: Sequence[Numbered], about: str = "The matrix") -> Markup:
    """The table. A cell without a case is empty: the fault does not apply there."""
    cases = [case for _, case in numbered]
    columns = columns_of(cases)
    cells: dict[tuple[str, str], list[Numbered]] = {}
    for number, case in numbered:
        cells.setdefault((str(case["boundary"]), str(case["fault"])), []).append((number, case))
    head = element("tr", element("th", "boundary", scope="col"), *(_column(name) for name in columns))
    rows = [
        element(
            "tr",
            element("th", _breakable(name), scope="row"),
            *(_cell(cells.get((name, fault), [])) for fault in columns),
        )
        for name in rows_of(boundaries, cases)
    ]
    table = element(
        "table",
        element("caption", "Each case, by where it was disturbed and how. A word leads to its evidence."),
        element("thead", head),
        element("tbody", *rows),
    )
    return element("div", table, class_="scrolls", role="region", aria_label=about, tabindex="0")


def _column(name: str) -> Markup:
    return element("th", element("span", name), scope="col")


def _breakable(name: str) -> Markup:
    """On a phone a name is folded where it has a dot."""
    first, *rest = name.split(".")
    return joined([first, *(part for each in rest for part in (element("wbr"), f".{each}"))])


def _cell(numbered: Sequence[Numbered]) -> Markup:
    return element("td", joined((_link(number, case) for number, case in numbered), " "))


def _link(number: int, case: Case) -> Markup:
    about = f"{word_of(case['verdict'], short=True)}: {case['case_id']}"  # what is seen is in what is read out
    return element(
        "a", verdict_of(case["verdict"], short=True), href=f"#{anchor_of(number)}", title=about, aria_label=about
    )


def _name(boundary: Any) -> str:
    return str(boundary["boundary"] if isinstance(boundary, Mapping) else boundary)  # pyright: ignore[reportUnknownArgumentType]
