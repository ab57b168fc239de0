"""Which boundaries a workflow can pass, as far as its code shows. What it really passes is learned by running it."""

import dis
from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterfoil.app import App

ALWAYS = frozenset(
    {
        "run.submitted", "run.claimed", "lease.renewed", "worker.seen", "run.waiting", "run.parked", "run.resumed",
        "run.cancelled", "run.finished",
    }
)  # fmt: skip
NOTHING: frozenset[str] = frozenset()
REVIEWED = frozenset({"review.opened", "review.answered"})
PERFORMED = frozenset(
    {
        "proposal.made", "operation.prepared", "operation.in_flight", "marker.flushed", "operation.first_byte",
        "operation.replied", "operation.classified", "operation.advanced", "operation.resolved",
    }
)  # fmt: skip
WAITED = frozenset({"timer.opened", "timer.fired"})
BY_CALL: dict[str, frozenset[str]] = {
    "step": frozenset({"step.ended", "step.try_failed"}),
    "decide": frozenset({"decision.asked", "decision.accepted", "step.try_failed"}),
    "revise": frozenset({"decision.asked", "decision.accepted", "step.try_failed"}),
    "propose": frozenset({"proposal.made"}),
    "perform": PERFORMED,
    "transact": PERFORMED,
    "sleep": WAITED,
    "timeout": WAITED,
    "wait_for": WAITED | {"signal.stored", "signal.received"},
    "child": frozenset({"child.started", "child.ended"}),
    "message": frozenset({"record.appended"}),
    "document": frozenset({"record.appended"}),
}


def passed_by(app: "App", name: str | None) -> frozenset[str] | None:
    """The names, or None where the code does not show it: all of them may be passed. Raises Refused(not_found)."""
    operations = [app.registry.operations[item["operation"]] for item in app.explain(name)["items"]]
    around: frozenset[str] = REVIEWED if any(each.review for each in operations) else NOTHING
    around |= frozenset({"operation.looked_up"}) if any(each.contract.lookup for each in operations) else NOTHING
    workflows = [workflow for (known, _), workflow in app.registry.workflows.items() if known == name]
    if name in app.registry.operations:
        return ALWAYS | PERFORMED | around
    found: frozenset[str] = ALWAYS
    for workflow in workflows:
        calls = _calls_of(workflow.function)
        if calls is None:
            return None
        for call in calls:
            found |= BY_CALL.get(call, NOTHING)
    if not workflows:
        return None
    return found | (around if "operation.prepared" in found else NOTHING)


def _calls_of(function: Any) -> set[str] | None:
    """The names called on the run; None when the run is handed to code that is not looked at."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None or code.co_argcount < 1:
        return None
    run, calls = code.co_varnames[0], set[str]()
    for part in _parts(code):
        instructions = list(dis.get_instructions(part))
        for n, each in enumerate(instructions):
            if each.argval != run or not each.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
                continue
            follower = instructions[n + 1]
            if follower.opname not in ("LOAD_METHOD", "LOAD_ATTR"):
                return None
            calls.add(str(follower.argval))
    return calls


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
