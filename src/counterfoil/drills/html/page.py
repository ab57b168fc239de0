"""The whole page: the sentence, what was drilled, what failed, the matrix, and every case with its evidence."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, cast

from counterfoil.drills.html.evidence import VERDICTS, anchor_of, kind_of, opened, value, verdict_of
from counterfoil.drills.html.markup import Markup, element, joined
from counterfoil.drills.html.matrix import groups_of, matrix, rows_of
from counterfoil.drills.html.parts import list_at, object_at

Data = Mapping[str, Any]
Numbered = tuple[int, Mapping[str, Any]]

READING = (
    "Each row is a boundary: a named instant that the workflow passes, NAME#N where it passes it for the Nth time. "
    "Each column is a fault. A case is played in processes and a database of its own: disturbed, recovered, compared.",
    "The verdict is taken at the receiver and in the journal, never from what the agent says: at most one record for "
    "one intention, the payload that was approved, nothing called done without a receipt, and everything that is left "
    "open visible with its owner and its next allowed action.",
    "An outcome that stands unresolved and visible is a pass where nothing else can be known. Not applicable (n/a): the "
    "reason is with the case. Not run: what it needs is not built or not there. An empty cell: the fault does not apply there.",
)


def page(data: Data, places: Mapping[str, str] | None = None) -> str:
    """The report of `drill` as HTML. `places`: paths of this machine, and what is printed for each of them."""
    data = _elsewhere(data, places or {})
    cases: Sequence[Mapping[str, Any]] = data["cases"]
    numbered = list(enumerate(cases, start=1))
    main = element(
        "main",
        element("h1", "Drill of ", element("code", data["target"])),
        _verdict(data["summary"], list_at(data, "guards")),
        _what(data),
        _failed(numbered),
        element("section", *_matrix(data, numbered), id="matrix"),
        element("section", element("h2", "The evidence"), *_evidence(data, numbered)),
        _guards(list_at(data, "guards")),
    )
    title = f"Drill of {data['target']}"
    return "<!doctype html>\n" + element("html", _head(title), element("body", main), lang="en") + "\n"


def sentence_of(summary: Mapping[str, Any]) -> str:
    """`214 cases: 198 passed, 0 failed, 12 not applicable, 4 not run, in 402 s.`"""
    names = ("passed", "failed", "not_applicable", "not_run")
    counted = ", ".join(f"{summary.get(name, 0)} {name.replace('_', ' ')}" for name in names)
    cases = summary["cases"]
    return f"{cases} {'case' if cases == 1 else 'cases'}: {counted}, in {summary['seconds']:.0f} s."


def _head(title: str) -> Markup:
    style = Markup(files("counterfoil.drills.html").joinpath("page.css").read_text())
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    )


def _verdict(summary: Mapping[str, Any], guards: Sequence[Mapping[str, Any]]) -> Markup:
    failed, missed = summary.get("failed", 0), [guard for guard in guards if not guard["caught_by"]]
    said = [f"{failed} of {summary['cases']} cases failed." if failed else "No case failed."]
    said += [f"Nobody missed {len(missed)} of {len(guards)} protections."] if missed else []
    found = "fail" if failed or missed else "pass" if summary.get("passed", 0) else "not_run"
    return element(
        "div",
        element("p", element("span", VERDICTS[found][0], aria_hidden="true"), f" {' '.join(said)}", class_="said"),
        element("p", sentence_of(summary)),
        class_=f"banner {kind_of(found)}",
    )


def _what(data: Data) -> Markup:
    facts: dict[str, Any] = {"target": data["target"], "digest of its code": data.get("target_digest")}
    facts |= {str(name).replace("_", " "): each for name, each in object_at(data, "versions").items()}
    if data.get("counted"):
        facts["what is counted"] = data["counted"]
    if data.get("registered") is not None:
        facts["registered"] = data["registered"]
    return element("section", element("h2", "What was drilled"), value(facts))


def _failed(numbered: Sequence[Numbered]) -> Markup | None:
    items = [
        element(
            "li",
            element("a", case["case_id"], href=f"#{anchor_of(number)}"),
            ": ",
            "; ".join(str(each) for each in list_at(case, "reasons")),
        )
        for number, case in numbered
        if case["verdict"] == "fail"
    ]
    return element("section", element("h2", "What failed"), element("ul", *items, class_="failed")) if items else None


def _matrix(data: Data, numbered: Sequence[Numbered]) -> list[Markup]:
    found = dict.fromkeys(case["verdict"] for case in data["cases"])
    shown = [verdict for verdict in VERDICTS if verdict in found]
    choices = [("all", Markup("all"))] + [(each, verdict_of(each)) for each in shown]
    radios = [
        element(
            "label",
            element("input", type="radio", name="show", id=f"show-{name.replace('_', '-')}", checked=name == "all"),
            " ",
            said,
        )
        for name, said in choices
    ]
    filters = element("fieldset", element("legend", "Show"), *radios, class_="filter")
    reading = element("details", element("summary", "How to read this"), *(element("p", each) for each in READING))
    return [
        element("h2", "The matrix"),
        reading,
        filters,
        *_matrices(list_at(data, "boundaries"), numbered),
    ]


def _matrices(boundaries: Sequence[Any], numbered: Sequence[Numbered]) -> list[Markup]:
    """One for each workflow and scenario; a single one needs no heading."""
    groups = groups_of(numbered)
    if len(groups) == 1:
        return [matrix(boundaries, numbered)]
    return [
        part
        for name, cases in groups.items()
        for part in (element("h3", name), matrix(boundaries, cases, f"The matrix of {name}"))
    ]


def _evidence(data: Data, numbered: Sequence[Numbered]) -> list[Markup]:
    groups = groups_of(numbered)
    parts: list[Markup] = []
    for name, cases in groups.items():
        for row in rows_of(list_at(data, "boundaries"), [case for _, case in cases]):
            here = [opened(number, case) for number, case in cases if case["boundary"] == row]
            heading = row if len(groups) == 1 else f"{name} {row}"
            parts.append(element("section", element("h3", heading), *here, class_="row"))
    return parts


def _guards(guards: Sequence[Mapping[str, Any]]) -> Markup | None:
    if not guards:
        return None
    rows = [
        element(
            "tr",
            element("th", guard["guard"], scope="row"),
            element("td", verdict_of("pass" if guard["caught_by"] else "fail"), class_="n"),
            element("td", joined(guard["caught_by"], ", ") or "no case noticed that it was gone"),
        )
        for guard in guards
    ]
    head = element(
        "tr", *(element("th", name, scope="col") for name in ("protection taken away", "verdict", "noticed by"))
    )
    table = element("table", element("thead", head), element("tbody", *rows))
    scrolled = element("div", table, class_="scrolls", role="region", aria_label="Protections taken away", tabindex="0")
    return element("section", element("h2", "Protections taken away"), scrolled)


def _elsewhere(shown: Any, places: Mapping[str, str]) -> Any:
    """The same value, with every path of this machine as `places` prints it; the longest path first."""
    if isinstance(shown, str):
        for path in sorted(places, key=len, reverse=True):
            shown = shown.replace(path, places[path])
        return shown
    if isinstance(shown, Mapping):
        named = cast("Mapping[str, Any]", shown)
        return {name: _elsewhere(each, places) for name, each in named.items()}
    if isinstance(shown, list | tuple):
        return [_elsewhere(each, places) for each in cast("list[Any]", shown)]
    return shown
