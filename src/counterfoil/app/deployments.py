"""The noun `deployments`: before a deployment, what the new code makes of the open runs; and which versions are still needed."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from counterfoil.app.views.worker import worker_view
from counterfoil.engine.definitions import Registry
from counterfoil.engine.opened import Opened
from counterfoil.engine.rehearsal import Rehearsed, Verdict, rehearse
from counterfoil.model.codec import parsed
from counterfoil.model.origin import MARK
from counterfoil.model.run import ParkReason, RunRecord, RunState

OPEN = (RunState.RUNNING, RunState.WAITING, RunState.PARKED, RunState.PENDING)
_PAGE = 200

_MARKED = 'mark the change in the code: `if await run.changed("id")`; runs from before it keep their way'
_SIDE_BY_SIDE = "keep the old version registered beside a new one until its runs have ended"
_OLD_WORKER = "keep a worker with the code that wrote the record until these runs have ended"
WAYS_ON: dict[ParkReason, tuple[str, ...]] = {
    ParkReason.CODE_CHANGED: (_OLD_WORKER, _SIDE_BY_SIDE, _MARKED),
    ParkReason.NO_WORKER: (_OLD_WORKER, _SIDE_BY_SIDE),
}


class Deployments:
    """`app.deployments`."""

    def __init__(
        self, registry: Registry, opened: Callable[[], Opened], looking: Callable[[], AbstractContextManager[Opened]]
    ) -> None:
        self._registry = registry
        self._opened = opened
        self._looking = looking

    def versions(self) -> dict[str, Any]:
        """`{items: [{workflow, version, here, open_runs, states, workers, needed, sentence}], next_cursor: None}`, of what we execute.

        `here`: this code has it. `states`: open runs by state. `workers`: ids of those alive that have it. Not `needed`: no open
        run is of it.
        """
        opened = self._opened()
        with opened.read() as reader:
            counted = reader.figures.open_versions()
            workers = reader.lists.workers()
        states: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
        for workflow, version, state, count in counted:
            states[workflow, version][state] = count
        has: dict[tuple[str, int], list[str]] = defaultdict(list)
        for worker in workers:
            if worker_view(opened, worker, 0)["alive"]:
                for workflow, versions in parsed(worker.versions).items():
                    for version in versions:
                        has[workflow, version].append(worker.worker_id)
        known = {key for key in (*self._registry.workflows, *states, *has) if not key[0].endswith(MARK)}
        items = [self._version(key, states[key], has[key]) for key in sorted(known)]
        return {"items": items, "next_cursor": None}

    def _version(self, key: tuple[str, int], states: dict[str, int], workers: list[str]) -> dict[str, Any]:
        workflow, version = key
        here, runs = key in self._registry.workflows, sum(states.values())
        if runs and not workers:
            sentence = f"{runs} open runs need it, and no worker that is alive has it."
        elif runs:
            sentence = f"{runs} open runs need it; {len(workers)} workers have it."
        elif here and self._registry.newest(workflow).version == version:
            sentence = "New runs are of it."
        else:
            sentence = "No open run needs it: it can be retired."
        return {
            "workflow": workflow, "version": version, "here": here, "open_runs": runs, "states": states,
            "workers": workers, "needed": bool(runs), "sentence": sentence,
        }  # fmt: skip

    async def check(self, *, workflow: str | None = None, sample: int | None = None) -> dict[str, Any]:
        """Replay every open run, or at most `sample` of each version, against the code at hand. Nothing is written or sent.

        Runs that Temporal executes are left out: its own replayer is asked about those.

        `{items: [REHEARSED], summary: {open, checked, goes_on, parks, fails, not_checked}}`; items are those that do not go on.
        REHEARSED: {run_id, number, workflow, workflow_version, state, verdict, reason, position, recorded, asked, sentence,
        ways_on}. Raises Refused(no_database).
        """
        counts: Counter[str] = Counter()
        items: list[dict[str, Any]] = []
        with self._looking() as opened:
            with opened.read() as reader:
                counted = reader.figures.open_versions()
            wanted = {
                key: sum(n for *of, _, n in counted if tuple(of) == key)
                for key in {(name, version) for name, version, _, _ in counted}
                if workflow in (None, key[0]) and not key[0].endswith(MARK)
            }
            for run in _sampled(opened, wanted, sample):
                found = await rehearse(opened, run)
                counts[found.verdict] += 1
                if found.verdict is not Verdict.GOES_ON:
                    items.append(_view(run, found))
        summary = {"open": sum(wanted.values()), "checked": counts.total() - counts[Verdict.NOT_CHECKED]}
        return {"items": items, "summary": summary | {verdict.value: counts[verdict] for verdict in Verdict}}


def _sampled(opened: Opened, wanted: dict[tuple[str, int], int], sample: int | None) -> Iterator[RunRecord]:
    """Runs of the versions that are asked for; where a sample is, spread evenly over each version's runs."""
    met: Counter[tuple[str, int]] = Counter()
    for state in OPEN:
        before: int | None = None
        while True:
            with opened.read() as reader:
                page = reader.lists.runs(state=state.value, before=before, limit=_PAGE)
            for run in page.items:
                key = (run.workflow, run.workflow_version)
                if key not in wanted:
                    continue
                place, met[key] = met[key], met[key] + 1
                if sample is None or place * sample // wanted[key] != (place - 1) * sample // wanted[key]:
                    yield run
            before = page.next_cursor
            if before is None:
                break


def _view(run: RunRecord, found: Rehearsed) -> dict[str, Any]:
    return {
        "run_id": run.run_id, "number": run.number, "workflow": run.workflow, "workflow_version": run.workflow_version,
        "state": run.state.value, "verdict": found.verdict.value, "reason": found.reason, "position": found.position,
        "recorded": found.recorded, "asked": found.asked, "sentence": found.sentence,
        "ways_on": [] if found.reason is None else list(WAYS_ON.get(found.reason, ())),
    }  # fmt: skip
