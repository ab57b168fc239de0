"""The page of a drill needs nothing beside itself, hides nothing, and is not broken by what it shows."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from counterfoil.drills.html import page
from counterfoil.drills.html.matrix import columns_of, rows_of
from tests.drills.sample_report import BOUNDARIES, FAULTS, HOSTILE, case, report

VOID = {"meta", "input", "wbr"}


class Reading(HTMLParser):
    """A page as a browser reads it: elements with their attributes and texts, and whether every one was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    def all(self, name: str, attribute: str) -> list[str]:
        return [str(each[attribute]) for tag, each in self.elements if tag == name and attribute in each]


def test_it_needs_nothing_beside_itself() -> None:
    text = page(report())
    read = Reading(text)
    assert {tag for tag, _ in read.elements}.isdisjoint({"script", "link", "img", "iframe", "object", "form", "base"})
    assert not re.search(r"https?://|url\(|@import|\bon\w+=", text)
    assert all(target.startswith("#") for target in read.all("a", "href"))


def test_every_case_is_in_the_matrix_and_opens_to_its_evidence() -> None:
    data = report()
    read = Reading(page(data))
    anchors = read.all("div", "id")
    assert len(anchors) == len(set(anchors)) == len(data["cases"])
    led = read.all("a", "href")
    assert set(anchors) <= {target.removeprefix("#") for target in led}
    labels = read.all("a", "aria-label")
    words = {"pass": "pass", "fail": "fail", "not_applicable": "n/a", "not_run": "not run"}
    assert labels == [f"{words[each['verdict']]}: {each['case_id']}" for each in in_matrix_order(data)]


def in_matrix_order(data: dict[str, Any]) -> list[dict[str, Any]]:
    place = {name: n for n, name in enumerate(rows_of(data["boundaries"], data["cases"]))}
    column = {name: n for n, name in enumerate(columns_of(data["cases"]))}
    return sorted(data["cases"], key=lambda each: (place[each["boundary"]], column[each["fault"]]))


def test_rows_are_in_the_order_of_the_run_and_columns_as_first_named() -> None:
    cases = [case(BOUNDARIES[3], FAULTS[2]), case("unlisted#1", FAULTS[0]), case(BOUNDARIES[0], FAULTS[2])]
    assert rows_of(BOUNDARIES, cases) == [BOUNDARIES[0], BOUNDARIES[3], "unlisted#1"]
    assert columns_of(cases) == [FAULTS[2], FAULTS[0]]


def test_each_workflow_and_scenario_has_a_matrix_of_its_own() -> None:
    cases = [
        case("b#1", "f"),
        case("b#1", "f", case_id="refund/second/b#1/f"),
        case("c#1", "g", case_id="other/c#1/g:late"),
    ]
    read = Reading(page(report(*cases)))
    assert read.all("div", "aria-label")[:3] == [
        "The matrix of refund",
        "The matrix of refund/second",
        "The matrix of other",
    ]
    text = " ".join(read.texts)
    assert "second / b#1 / f" in text and "c#1 / g:late" in text
    assert len(read.all("div", "id")) == 3


@pytest.mark.parametrize(
    "name",
    [
        "run_id", "proposal_version", "proposal_digest", "attempts", "receipts", "outcome", "owner", "repeat", "boundary", "fault", "name",
    ],
)  # fmt: skip
def test_evidence_is_shown(name: str) -> None:
    value = 77 if name in {"proposal_version", "attempts", "receipts"} else f"shown-{name}"
    assert str(value) in "".join(Reading(page(report(case("b#1", "f") | {name: value}))).texts)


def test_nested_evidence_is_shown() -> None:
    action = {
        "code": "c",
        "sentence": "Ask them.",
        "who": {"kind": "operator", "name": "oscar"},
        "command": "do it",
        "deadline_at": "soon",
    }
    shown = case(
        "b#1", "f", "fail", applied={"at": "here", "proof": {"offset": -3600}}, next_action=action, reasons=["It is gone."],
        receiver={"records": 3, "payload_digests": ["digest-1"], "unledgered_writes": 5, "counted": "by the proxy"},
    )  # fmt: skip
    text = " ".join(Reading(page(report(shown))).texts)
    for said in (
        "here",
        "offset",
        "-3600",
        "Ask them.",
        "operator oscar",
        "do it",
        "soon",
        "It is gone.",
        "3",
        "digest-1",
        "5",
        "by the proxy",
    ):
        assert said in text


def test_a_hostile_text_is_a_text() -> None:
    text = page(report())
    assert "<script" not in text and "</style></code>" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff\ufffe]", text)
    said = "".join(Reading(text).texts)
    assert "<script>alert(1)</script>" in said and "\\u202e" in said and "\\x1b[31m" in said
    assert text.encode()
    assert "alert(2)" not in "".join(tag for tag, _ in Reading(page(report(target="<b onclick=alert(2)>"))).elements)


def test_a_verdict_is_said_by_mark_and_word() -> None:
    text = "".join(Reading(page(report())).texts)
    for said in ("✓ pass", "✗ fail", "⊘ not applicable", "○ not run", "⊘ n/a"):
        assert said in text


def test_the_sentence_and_the_banner() -> None:
    text = " ".join(Reading(page(report())).texts)
    assert "15 cases: 12 passed, 1 failed, 1 not applicable, 1 not run, in 19 s." in text
    assert "1 of 15 cases failed." in text
    assert "No case failed." in " ".join(Reading(page(report(case("b#1", "f"), guards=[]))).texts)
    assert "Nobody missed 1 of 2 protections." in " ".join(Reading(page(report(case("b#1", "f")))).texts)


def test_protections_taken_away() -> None:
    text = " ".join(Reading(page(report())).texts)
    assert "key-reuse" in text and "no case noticed that it was gone" in text
    assert "Protections taken away" not in page(report(guards=[]))


def test_an_unknown_verdict_looks_like_a_failure() -> None:
    assert 'class="case is-fail"' in page(report(case("b#1", "f", "odd")))


def test_places_of_this_machine_are_replaced() -> None:
    shown = case("b#1", "f", repeat="drill /tmp/x/y", applied={"at": "b", "proof": {"db": ["/tmp/x/y/book.db"]}})
    text = page(report(shown), {"/tmp/x": "FOLDER", "/tmp/x/y": "CASE"})
    assert "/tmp" not in text and "CASE/book.db" in text


def test_the_sample_is_hostile() -> None:
    assert "<script>" in HOSTILE and "\x00" in HOSTILE
