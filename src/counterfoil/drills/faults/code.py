"""Fault: other code for the same version is deployed between a crash and the recovery, and later taken back."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.living import Looks, lived
from counterfoil.drills.faults.saying import said
from counterfoil.drills.learning import Learned
from counterfoil.drills.life import Say, placed, submitted
from counterfoil.drills.stage import Stage
from counterfoil.engine.branches import current_branch
from counterfoil.engine.definitions import Workflow
from counterfoil.model.journal import EntryKind

HERE = "counterfoil.drills.faults.code"
# Before and after the send: wherever the record holds something that changed code may not fit.
AT = (
    "run.claimed", "step.ended", "decision.accepted", "proposal.made", "operation.prepared", "review.opened", "review.answered",
    "operation.in_flight", "operation.replied", "operation.classified",
)  # fmt: skip
# Calls of the run that take one position and are awaited, so that another call can be put before them.
CALLS = frozenset(
    {"step", "decide", "revise", "propose", "perform", "transact", "wait_for", "sleep", "child", "message", "document"}
)
# Entries of such calls; a timer may belong to a `timeout`, which is a block.
_OF_CALLS = frozenset(
    {
        EntryKind.STEP, EntryKind.STEP_FAILED, EntryKind.TRY_FAILED, EntryKind.ASKED, EntryKind.DECISION, EntryKind.PROPOSAL,
        EntryKind.PREPARED, EntryKind.RECEIVED, EntryKind.CHILD, EntryKind.MESSAGE, EntryKind.DOCUMENT,
    }
)  # fmt: skip


def cases(learned: Learned) -> Iterator[Planned]:
    """At each of these boundaries, as often as it was passed."""
    return (learned.planned(passed, "code-changed") for passed in learned.at(*AT))


def play(stage: Stage, planned: Planned) -> Applied:
    """Killed; changed code drives the run; then the code of before does."""
    killed = stage.dies(planned.boundary)
    at = stage.now()
    changed = said(stage.lives(f"{HERE}:deployed"))
    if changed.get("called_at") is None:
        raise NotApplied(
            f"The changed code did not come as far as position {changed.get('before')}: nothing was changed."
        )
    rest = changed["at_rest"]
    wrong: list[str] = []
    proof: dict[str, Any] = {"crash": killed, "changed": changed}
    if rest["reason"] == "code_changed":
        names = [added_by_a_deployment.__name__, changed["recorded"]]
        wrong += [f"The stop does not name {name}." for name in names if name not in (rest["sentence"] or "")]
        before = said(stage.lives("counterfoil.drills.faults.living:goes_on"))
        proof["code_of_before"] = before
        if before["at_rest"]["reason"] == "code_changed":
            wrong.append("With the code of before it is still parked as code_changed.")
    elif changed["recorded"] is not None:
        wrong.append(f"Changed code was not recognised: the run is {rest['state']} ({rest['reason']}).")
    return Applied(at=at, proof=proof, wrong=tuple(wrong))


def deployed(app: App, arguments: dict[str, Any], say: Say) -> None:
    """A worker with changed code: one more recorded step before the newest call that the record holds.

    Says {before, recorded}: that call's position and name, and {called_at} once the new step was called.
    """
    placed(app, arguments, say)
    run_id = asyncio.run(submitted(app, arguments))["run_id"]
    position, name = newest_call(app, str(run_id))
    say({"before": position, "recorded": name})
    changed = newest_of(app, arguments["workflow"])
    app.registry.workflows[changed.name, changed.version] = replace(changed, function=_changed(changed, position, say))
    asyncio.run(lived(app, arguments, say, Looks()))
    app.close()


def newest_of(app: App, name: str) -> Workflow[Any, Any]:
    """The version that a submission takes."""
    return app.registry.newest(name)


def newest_call(app: App, run_id: str) -> tuple[str, str | None]:
    """Position and name of the newest call in the record; the first position, and None, where there is none."""
    with app.open().read() as reader:
        entries = reader.entries(run_id)
    calls = [entry for entry in entries if entry.kind in _OF_CALLS and entry.position is not None]
    return (str(calls[-1].position), calls[-1].name) if calls else ("1", None)


async def added_by_a_deployment() -> str:
    """What the changed code does in addition."""
    return "added"


class ChangedExecution:
    """What an agent's own loop calls through, where the code does not: at one position it calls something else."""

    def __init__(self, execution: Any, position: str, told: Callable[[str], None]) -> None:
        vars(self).update(_execution=execution, _position=position, _told=told)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._execution, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._execution, name, value)

    def call(self, name: str, digest: str | None) -> Any:
        """The recorded call at the next position: under the name of the new step where that is the one."""
        if _next_position() == self._position:
            self._told(self._position)
            name = added_by_a_deployment.__name__
        return self._execution.call(name, digest)


class ChangedRun:
    """The run as the changed code uses it: another step stands before the call at one position."""

    def __init__(self, run: Any, position: str, told: Callable[[str], None]) -> None:
        self._run = run
        self._position = position
        self._told = told

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._run, name)
        if name == "execution":
            return ChangedExecution(found, self._position, self._told)
        return self._after_the_new_step(found) if name in CALLS else found

    def _after_the_new_step(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def called(*args: Any, **kwargs: Any) -> Any:
            if _next_position() == self._position:
                self._told(self._position)
                await self._run.step(added_by_a_deployment)
            return await call(*args, **kwargs)

        return called


def _next_position() -> str:
    branch = current_branch.get()
    return f"{branch.prefix}{branch.number + 1}"


def _changed(workflow: Workflow[Any, Any], position: str, say: Say) -> Callable[..., Any]:
    @wraps(workflow.function)
    async def changed(run: Any, given: Any) -> Any:
        return await workflow.function(ChangedRun(run, position, lambda at: say({"called_at": at})), given)

    return changed
