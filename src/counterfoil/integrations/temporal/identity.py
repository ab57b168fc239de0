"""The names of a workflow on both sides."""

from dataclasses import replace
from typing import Any

from counterfoil.engine.definitions import Workflow
from counterfoil.model.origin import MARK

SEARCH_ATTRIBUTE = "CounterfoilRun"


def in_ledger(workflow: Workflow[Any, Any]) -> Workflow[Any, Any]:
    """The workflow as the ledger names its runs on Temporal."""
    return replace(workflow, name=f"{workflow.name}{MARK}")


def type_name(name: str, version: int) -> str:
    """The workflow type: versions live side by side, and each is replayed by its own code."""
    return f"{name}-v{version}"


def workflow_id_for(name: str, request_id: str) -> str:
    """The workflow id of a request that is submitted by us."""
    return f"{name}:{request_id}"
