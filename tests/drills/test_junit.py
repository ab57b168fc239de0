"""The report as build servers read it: well formed, counted, and each failure with its command."""

from xml.etree import ElementTree

from counterfoil.drills.junit import document
from tests.drills.sample_report import case, report


def test_suites_and_cases_are_counted() -> None:
    data = report(case("b#1", "f"), case("b#1", "g", "fail", case_id="other/b#1/g"), case("b#1", "h", "not_run"))
    root = ElementTree.fromstring(document(data))
    assert root.tag == "testsuites"
    assert {n: root.get(n) for n in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "3", "failures": "1", "errors": "0", "skipped": "1", "time": "3.702",
    }  # fmt: skip
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["refund", "other"]
    assert [suites["refund"].get(n) for n in ("tests", "failures", "skipped")] == ["2", "0", "1"]
    assert [suites["other"].get(n) for n in ("tests", "failures", "skipped")] == ["1", "1", "0"]


def test_each_case_says_what_it_was() -> None:
    data = report()
    root = ElementTree.fromstring(document(data))
    tests = list(root.iter("testcase"))
    assert len(tests) == len(data["cases"])
    assert len({(test.get("classname"), test.get("name")) for test in tests}) == len(tests)
    failure = next(iter(root.iter("failure")))
    assert failure.get("message") == "The receiver holds 2 records."
    assert failure.text is not None and "counterfoil drill" in failure.text
    assert [each.get("message") for each in root.iter("skipped")] == [
        "not applicable: It loses its keys and cannot be asked.", "not run: Archives are built by issue 8.",
    ]  # fmt: skip
    assert {each.get("name"): each.get("value") for each in root.iter("property")}["target"] == "shop:refund"


def test_an_unknown_verdict_is_a_failure() -> None:
    root = ElementTree.fromstring(document(report(case("b#1", "f", "odd"))))
    assert root.get("failures") == "1" and next(iter(root.iter("failure"))).get("message") == "odd"


def test_attributes_and_children_are_those_of_the_schema() -> None:
    """As the schema that most build servers share has them, children in its order."""
    attributes = {
        "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
        "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
        "testcase": {"name", "classname", "time"},
        "properties": set[str](),
        "property": {"name", "value"},
        "failure": {"message", "type"},
        "skipped": {"message"},
        "system-out": set[str](),
    }
    children = {"testsuites": {"testsuite"}, "testsuite": {"properties", "testcase"}, "properties": {"property"}}
    for each in ElementTree.fromstring(document(report())).iter():
        assert set(each.attrib) == attributes[each.tag]
        allowed = {"failure", "skipped", "system-out"} if each.tag == "testcase" else children.get(each.tag, set())
        assert {child.tag for child in each} <= allowed
        assert [child.tag for child in each].index("properties") == 0 if each.tag == "testsuite" else True
        assert len(each) <= 1 if each.tag == "testcase" else True


def test_a_hostile_text_is_a_text() -> None:
    text = document(report())
    assert text.encode()
    said = "".join(ElementTree.fromstring(text).itertext())
    assert "</code><script>alert(1)</script>" in said and "\\x00" in said and "\\ud800" in said
