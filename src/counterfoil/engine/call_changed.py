"""`run.changed`: a change inside a version. Runs from before it keep their way, new ones take the new way, and each stays on its own."""

from counterfoil.engine.execution import Execution
from counterfoil.engine.steps import EndStep
from counterfoil.engine.suspension import Suspended
from counterfoil.model.errors import Refused

LONGEST = 100  # characters of a change's id


async def changed(execution: Execution, change: str) -> bool:
    """Whether this run goes the new way. Raises Refused(usage) for an id that is empty or too long.

    The new way is recorded, under the id and not at a number, so that the calls behind it keep theirs. The old way is seen from
    the record: a call stands where the next one of this branch would, and it was made by code that knew nothing of the change.
    What a run took first it keeps to its end: the first call answers for all.
    """
    if not change.strip() or len(change) > LONGEST:
        raise Refused("usage", problem=f"the id of a change has 1 to {LONGEST} characters")
    branch, journal = execution.branch, execution.journal
    if execution.closed:
        raise Suspended
    if branch.pending is not None:
        raise Refused("concurrent_calls")
    position = f"changed {change}"
    if position in execution.unchanged:
        return False
    outcome = journal.ended.get(position)
    if outcome is None:
        upcoming = f"{branch.prefix}{branch.number + 1}"
        if any(place == upcoming or place.startswith(f"{upcoming}.") for place in journal.names):
            execution.unchanged.add(position)
            return False
        branch.pending = position
        try:
            run = execution.run
            data = {"in": None, "out": True}
            verb = EndStep(run.run_id, run.fence, position, position, data, execution.opened.deadlines)
            entry = await execution.owned(execution.write(verb))
            execution.noted(entry, data)
        finally:
            branch.pending = None
        outcome = journal.ended[position]
    await execution.given(outcome)
    return True
