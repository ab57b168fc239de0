"""The report as JUnit XML: a suite for each workflow, a test case for each case, as build servers read it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from counterfoil.drills.html.markup import legible
from counterfoil.drills.html.parts import list_at, object_at

Case = Mapping[str, Any]
LEFT_OUT = {"not_applicable", "not_run"}


def document(data: Mapping[str, Any]) -> str:
    """The report of `drill` as XML. Skipped: what is not applicable or not run. Any other verdict but pass is a failure."""
    suites: dict[str, list[Case]] = {}
    for case in data["cases"]:
        suites.setdefault(workflow_of(case), []).append(case)
    root = Element("testsuites", {"name": legible(f"drill {data['target']}"), **_counts(data["cases"])})
    for workflow, cases in suites.items():
        suite = SubElement(root, "testsuite", {"name": legible(workflow), **_counts(cases)})
        _properties(suite, data)
        for case in cases:
            _case(suite, workflow, case)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def workflow_of(case: Case) -> str:
    """A case's id is WORKFLOW/BOUNDARY/FAULT."""
    return str(case["case_id"]).partition("/")[0]


def is_failure(case: Case) -> bool:
    """Also an unknown verdict: what nobody understands has not passed."""
    return case["verdict"] != "pass" and case["verdict"] not in LEFT_OUT


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": str(sum(map(is_failure, cases))),
        "errors": "0",
        "skipped": str(sum(case["verdict"] in LEFT_OUT for case in cases)),
        "time": f"{sum(_seconds(case) for case in cases):.3f}",
    }


def _properties(suite: Element, data: Mapping[str, Any]) -> None:
    named = {"target": data["target"], "target_digest": data.get("target_digest"), **object_at(data, "versions")}
    properties = SubElement(suite, "properties")
    for name, value in named.items():
        SubElement(properties, "property", {"name": legible(name), "value": legible(_flat(value))})


def _flat(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value


def _case(suite: Element, workflow: str, case: Case) -> None:
    name = str(case["case_id"]).partition("/")[2] + (f" ({case['name']})" if case.get("name") else "")
    test = SubElement(
        suite, "testcase", {"classname": legible(workflow), "name": legible(name), "time": f"{_seconds(case):.3f}"}
    )
    reasons = [str(reason) for reason in list_at(case, "reasons")]
    first = legible(reasons[0] if reasons else case["verdict"])
    if is_failure(case):
        failure = SubElement(test, "failure", {"message": first, "type": legible(case["verdict"])})
        failure.text = legible("\n".join([*reasons, "", "This command repeats it:", str(case.get("repeat"))]))
    elif case["verdict"] in LEFT_OUT:
        SubElement(test, "skipped", {"message": legible(f"{case['verdict'].replace('_', ' ')}: {'; '.join(reasons)}")})
    else:
        SubElement(test, "system-out").text = legible(_found(case))


def _found(case: Case) -> str:
    """What a pass rests on, in lines."""
    receiver = object_at(case, "receiver")
    lines = {
        "run": case.get("run_id"),
        "operations": ", ".join(list_at(case, "operation_ids")),
        "outcome": case.get("outcome"),
        "records at the receiver": receiver.get("records"),
        "writes outside an operation": receiver.get("unledgered_writes"),
        "repeat": case.get("repeat"),
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items())


def _seconds(case: Case) -> float:
    seconds = case.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else 0.0
