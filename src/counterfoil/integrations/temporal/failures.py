"""Failures as plain data, and back: what the ledger says in an activity is raised in the workflow, equal in type."""

from typing import Any

from counterfoil.model.errors import CounterfoilError, Refused, RunFailed, StepFailed, failure_from


def facts_of(error: CounterfoilError) -> dict[str, Any]:
    """Plain JSON of an error that a workflow may answer."""
    if isinstance(error, StepFailed):
        return error.facts()
    details = {name: value if _plain(value) else str(value) for name, value in error.details.items()}
    return {"type": type(error).__name__, "code": error.code, "details": details, "message": error.message}


def error_of(facts: dict[str, Any]) -> CounterfoilError:
    """The error that `facts_of` described."""
    if facts["type"] == "RunFailed":
        details = facts["details"]
        return RunFailed(details["run_id"], details["state"], details["problem"])
    if "details" in facts:
        return Refused(facts["code"], **facts["details"])
    return failure_from(facts)


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
