"""One story: submit, approve, be killed, go on, as a person at a terminal would do it, until the run ends or is parked."""

import asyncio
import json
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from counterfoil.engine.clock import Clock
from counterfoil.examples.demo.ledger import Ledger
from counterfoil.examples.demo.model import LocalModel
from counterfoil.examples.demo.processes import Child, Commands, Ended
from counterfoil.examples.demo.receivers import Receiver
from counterfoil.examples.demo.telling import Telling
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import ParkReason, RunRecord, RunState

REVIEWER = "ana"
LOOK_US = 20_000
MOVES_WITHIN_S = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is told. `ends` names how it must end; None where that depends on what was asked for."""

    name: str
    title: str
    receiver_kind: str
    workflow: str
    request_id: str
    input: dict[str, Any]
    ends: str | None = None
    reason: str | None = None  # under which it must be parked
    records: int = 1
    refused_once: bool = False  # the receiver refuses once; a person corrects the cause and retries
    operation: str | None = None  # the one that is shown; None: the last

    def problems(self, told: dict[str, Any]) -> list[str]:
        """What of a told story is not as it must be."""
        run, held = told["run"], told["receiver"]["records"]
        others = [other["records"] for other in told["receiver"].get("others", {}).values()]
        doubt = bool(run["uncertain"]) and run["owner"] and run["deadline_at"] and run["next_action"]["command"]
        checked = {
            f"it ended {told['outcome']}": self.ends in (None, told["outcome"]),
            f"it is parked as {run['reason']}": self.reason in (None, run["reason"]),
            f"the receiver holds {held} records": held in (None, self.records) or (doubt and held == 0),
            f"the other receivers hold {others} records": all(n == 1 or (doubt and n == 0) for n in others),
            "it is unresolved and nobody is asked": told["outcome"] == "succeeded" or run["next_action"]["command"],
            "the same request made another run": told["resubmitted"]
            == {"run_id": run["run_id"], "admitted": "existing"},
        }
        return [f"{self.name}: {problem}" for problem, good in checked.items() if not good]


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A plan, who is killed, and how its receiver comes to be; `url_name` is the variable that names its address."""

    plan: Plan
    crash_at: str | None
    receiver: Callable[[], AbstractContextManager[Receiver]]
    url_name: str
    model: Callable[[], LocalModel] = LocalModel

    def environment(self, receiver: Receiver) -> dict[str, str]:
        """The variables that make the application reach it."""
        return {self.url_name: receiver.url, **receiver.environment}


@dataclass(slots=True)
class Stage:
    """What a story plays on. `commands.crash` says who is killed."""

    commands: Commands
    ledger: Ledger
    model: LocalModel
    receiver: Receiver
    clock: Clock
    telling: Telling
    engine: str = "embedded"


@dataclass(slots=True)
class Story:
    """`tell` gives one entry of `data.stories` (cli.md)."""

    plan: Plan
    stage: Stage
    _worker: Child | None = None
    _crashed_at: int = -1
    _retried: bool = False

    async def tell(self) -> dict[str, Any]:
        """Raises Refused(unknown_boundary) when nothing reached the boundary that was to kill."""
        self.stage.telling.begin(self.plan)
        try:
            run = await self._until_rest()
            await self._stop()
            if self.stage.commands.crash.pid is not None and self.stage.commands.crash.recovery_pid is None:
                await self._look_again()
        finally:
            await self._stop()
        crash = self.stage.commands.crash
        if run.state is RunState.FAILED:
            raise CounterfoilError("defect", problem=f"{run.run_id} failed: {run.failure}")
        if crash.armed:
            raise Refused("unknown_boundary", name=crash.boundary)
        before = len(self.stage.ledger.entries(run.run_id))
        again = (await self._submit()).data
        if len(self.stage.ledger.entries(run.run_id)) != before:
            raise CounterfoilError("defect", problem=f"{run.run_id} went on by itself after it had come to rest.")
        return await self._result(run, again)

    # ------------------------------------------------------------------ going on

    async def _until_rest(self) -> RunRecord:
        """Look where the run stands, do what a person would do, look again."""
        await self._hire()  # it comes up while the request is submitted
        while True:
            run = self.stage.ledger.run(self.plan.request_id)
            review = None if run is None else self.stage.ledger.open_review(run.run_id)
            if run is None:
                await self._begin()
            elif review is not None and not _at_rest(run):
                await self._approve(review)
            elif _at_rest(run) and not await self._retry(run):
                self.stage.telling.rest(run)
                return run
            else:
                await self._work(run)

    async def _begin(self) -> None:
        ended = await self._submit()
        if ended.killed:
            self._noticed(None, "submit")
            ended = await self._submit()
        said = ended.data
        self.stage.telling.submitted(said, ended.pid)

    async def _submit(self) -> Ended:
        file = self.stage.commands.folder / f"{self.plan.name}.json"
        file.write_text(json.dumps(self.plan.input, indent=1))
        words = ("submit", self.plan.workflow, "--input", str(file), "--request-id", self.plan.request_id)
        return await self.stage.commands.run(*words)

    async def _approve(self, review: ReviewRecord) -> None:
        """The manager, at the command line. Killed on the way: look, and repeat the command."""
        secret = self.stage.commands.folder / ".counterfoil" / f"{REVIEWER}.secret"
        words = ("reviews", "approve", f"rev-{review.number}", "--digest", review.digest, "--by", REVIEWER)
        words = (*words, "--secret-file", str(secret))
        ended = await self.stage.commands.run(*words)
        if ended.killed:
            self._noticed(review.run_id, "reviews approve")
            ended = await self.stage.commands.run(*words)
        self.stage.telling.approved(review, REVIEWER, ended.data, ended.pid)

    async def _retry(self, run: RunRecord) -> bool:
        """A refusal is final for its operation. Once the cause is corrected, a person has the run taken up again."""
        if not self.plan.refused_once or self._retried or run.reason != ParkReason.STEP_FAILED:
            return False
        self.stage.telling.refused(run)
        ended = await self.stage.commands.run("runs", "retry", f"run-{run.number}")
        if ended.killed:
            self._noticed(run.run_id, "runs retry")
        else:
            self._retried = bool(ended.data)
        return True

    async def _work(self, run: RunRecord) -> None:
        """Have a worker, and wait until there is something to do for a person, or the worker is gone."""
        if self._worker is None:
            await self._hire()
        await self._wait(lambda: self._moved(run), "the run")
        await self._bury()

    async def _hire(self) -> None:
        self._worker = await self.stage.commands.worker()
        self.stage.telling.worker(self._worker.pid, again=self.stage.commands.crash.pid is not None)

    def _moved(self, seen: RunRecord) -> bool:
        run = self.stage.ledger.run(self.plan.request_id)
        assert run is not None, "a stored run is never deleted"
        if self._worker is None or self._worker.gone or _at_rest(run):
            return True
        return self.stage.ledger.open_review(run.run_id) is not None

    async def _bury(self) -> None:
        """A worker that is gone was killed at the boundary, or the demo is broken."""
        worker = self._worker
        if worker is None or not worker.gone:
            return
        self._worker = None
        status = worker.ended.result()
        if not self.stage.commands.crash.note(worker.pid, status):
            raise CounterfoilError(
                "defect", problem=f"The worker {worker.pid} ended with status {status}. See the log."
            )
        run = self.stage.ledger.run(self.plan.request_id)
        self._noticed(None if run is None else run.run_id, "worker")

    def _noticed(self, run_id: str | None, what: str) -> None:
        crash = self.stage.commands.crash
        self._crashed_at = -1 if run_id is None else len(self.stage.ledger.entries(run_id)) - 1
        self.stage.telling.crashed(what, crash, self.stage.receiver.witness())

    async def _look_again(self) -> None:
        """Killed with its last commit: a new worker finds nothing left to do."""
        self._noticed(None, "worker")
        await self._hire()
        pid = 0 if self._worker is None else self._worker.pid
        await self._wait(lambda: self.stage.ledger.has_worker(pid), "a new worker")

    async def _stop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await self.stage.commands.stop(worker)

    async def _wait(self, done: Callable[[], bool], what: str) -> None:
        never, clock = asyncio.Event(), self.stage.clock
        until = clock.now_us() + int(MOVES_WITHIN_S * 1_000_000)
        while not done():
            if clock.now_us() > until:
                raise CounterfoilError("defect", problem=f"{what} of {self.plan.name} did not move. See the log.")
            await clock.wait(never, clock.now_us() + LOOK_US)

    # ------------------------------------------------------------------ the result

    async def _result(self, run: RunRecord, again: dict[str, Any]) -> dict[str, Any]:
        stage, crash = self.stage, self.stage.commands.crash
        shown = stage.ledger.app.runs.show(run.run_id)
        operations: list[dict[str, Any]] = shown["records"]["operations"]
        named = [each for each in operations if self.plan.operation in (None, each["operation"])]
        operation = named[-1] if named else None
        succeeded = shown["state"] == RunState.COMPLETED and operation is not None
        how, case = stage.ledger.recovered(run.run_id, self._crashed_at)
        letter = None if case is None else case.letter
        if case is None and crash.pid is not None and operation is not None:
            letter = operation["case"]["letter"]
        witness = stage.receiver.witness()
        if case is not None:
            stage.telling.recovered(how, case, witness)
        return {
            "name": self.plan.name,
            "engine": self.stage.engine,
            "receiver_kind": self.plan.receiver_kind,
            "crash": None
            if crash.pid is None
            else {"boundary": crash.boundary, "pid": crash.pid, "exit_signal": signal.SIGKILL.value},
            "recovery": {"pid": crash.recovery_pid, "case": letter, "how": how},
            "run": shown,
            "operation": operation,
            "resubmitted": {"run_id": again["run_id"], "admitted": again["admitted"]},
            "receiver": witness,
            "model": stage.model.facts(stage.ledger.decisions(run.run_id)),
            "outcome": "succeeded" if succeeded else "unresolved",
        }


def _at_rest(run: RunRecord) -> bool:
    return run.state.ended or run.state is RunState.PARKED
