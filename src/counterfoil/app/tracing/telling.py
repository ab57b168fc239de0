"""The spans of one run, entry by entry: what an entry ends, it tells. A replay writes no entries, so it tells nothing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from counterfoil.app.tracing.span import Attribute, Span, span_id, trace_id
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Reader

_LEAVES = frozenset({EntryKind.SUSPENDED, EntryKind.PARKED, EntryKind.FINISHED})
_ROWS = '"rows":{'


@dataclass(slots=True)
class Life:
    """One worker's hold of the run, from its claim until it left."""

    sequence: int
    at: int
    facts: dict[str, Attribute]
    before: int | None  # the life that was lost, which this one takes up


@dataclass(slots=True)
class RunTelling:
    """What must be remembered of a run to tell what comes next. `stretch` counts its ends: a retry begins another span."""

    run_id: str
    began_at: int = 0
    stretch: int = 0
    life: Life | None = None
    newest_at: int = 0
    last_at: dict[str, int] = field(default_factory=dict[str, int])
    asked_at: dict[str, int] = field(default_factory=dict[str, int])

    def tell(self, entry: Entry, reader: Reader) -> Iterator[Span]:
        """Take in the next entry, and give the spans that it ends."""
        if not self.began_at:
            self.began_at = entry.at
        match entry.kind:
            case EntryKind.STARTED:
                yield from self._started(entry, json.loads(entry.body)["data"])
            case EntryKind.STEP | EntryKind.STEP_FAILED:
                yield self._step(entry)
            case EntryKind.ASKED:
                self.asked_at[str(entry.position)] = entry.at
            case EntryKind.DECISION:
                yield self._decision(entry, json.loads(entry.body)["data"])
            case _ if _ROWS in entry.body:
                yield from self._rows(json.loads(entry.body).get("rows", {}), reader)
            case _:
                pass
        if entry.kind in _LEAVES:
            yield from self._left(entry.kind.value, entry.at)
        if entry.kind is EntryKind.FINISHED:
            yield self._run(entry, reader)
        if entry.position is not None:
            self.last_at[_branch(entry.position)] = entry.at
        self.newest_at = entry.at

    # ------------------------------------------------------------------ the run and its lives

    def _root_id(self) -> int:
        return span_id(self.run_id, "run", self.stretch)

    def _started(self, entry: Entry, data: dict[str, Any]) -> Iterator[Span]:
        before = None
        if self.life is not None:
            before = span_id(self.run_id, "worker", self.life.sequence)
            yield from self._left("lost", max(self.newest_at, self.life.at))
        facts: dict[str, Attribute] = {
            "counterfoil.worker_id": data["worker"], "counterfoil.fence": data["fence"],
            "counterfoil.after_crash": data["from"] == "running",
        }  # fmt: skip
        self.life = Life(entry.sequence, entry.at, facts, before)

    def _left(self, how: str, at: int) -> Iterator[Span]:
        life, self.life = self.life, None
        if life is None:
            return
        links = () if life.before is None else (life.before,)
        yield self._span(
            "worker", "worker", life.sequence, self._root_id(), life.at, at,
            life.facts | {"counterfoil.left": how}, links=links, error="WorkerLost" if how == "lost" else None,
        )  # fmt: skip

    def _run(self, entry: Entry, reader: Reader) -> Span:
        run = reader.get(RunRecord, self.run_id)
        facts: dict[str, Attribute] = {"counterfoil.run_state": str(entry.name)}
        if run is not None:
            facts |= {
                "counterfoil.run_number": run.number, "counterfoil.workflow": run.workflow,
                "counterfoil.workflow_version": run.workflow_version,
            }  # fmt: skip
        name = f"run {run.workflow}" if run is not None else "run"
        failed = "RunFailed" if entry.name == RunState.FAILED else None
        told = self._span(name, "run", self.stretch, None, self.began_at, entry.at, facts, error=failed)
        self.stretch += 1
        self.began_at = 0
        return told

    # ------------------------------------------------------------------ calls

    def _step(self, entry: Entry) -> Span:
        """A step records its end alone. It began after the entry before it in its branch, and after its worker took the run."""
        branch = _branch(str(entry.position))
        outer = _branch(_branch(branch))
        began = max(self._life_at(), self.last_at.get(branch, 0), self.last_at.get(outer, 0) if branch else 0)
        facts: dict[str, Attribute] = {"counterfoil.position": str(entry.position)}
        failed = None
        if entry.kind is EntryKind.STEP_FAILED:
            failure: dict[str, Any] = json.loads(entry.body)["data"].get("failure") or {}
            failed = str(failure.get("kind") or failure.get("type") or "StepFailed")
        return self._span(
            f"step {entry.name}", "step", entry.sequence, self._life_id(), began, entry.at, facts, error=failed
        )

    def _decision(self, entry: Entry, data: dict[str, Any]) -> Span:
        """GenAI semantic conventions: an agent was invoked. Neither prompt nor output is told."""
        agent = str(entry.name).partition(" ")[2]
        began = self.asked_at.pop(str(entry.position), entry.at)
        facts: dict[str, Attribute] = {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent, "counterfoil.position": str(entry.position),
        }  # fmt: skip
        model: str | None = data.get("model")
        usage: dict[str, Any] = data.get("usage") or {}
        if model:
            provider, _, named = model.rpartition(":")
            facts |= {"gen_ai.request.model": named} | ({"gen_ai.provider.name": provider} if provider else {})
        facts |= {f"gen_ai.usage.{kind}": usage[kind] for kind in ("input_tokens", "output_tokens") if kind in usage}
        if data.get("cost_micros") is not None:
            facts["counterfoil.cost_usd"] = data["cost_micros"] / 1_000_000
        versions = ("prompt_version", "policy_version")
        facts |= {f"counterfoil.{version}": str(data[version]) for version in versions if data.get(version)}
        name = f"invoke_agent {agent}"
        return self._span(name, "decision", entry.sequence, self._life_id(), began, entry.at, facts, calls=True)

    # ------------------------------------------------------------------ operations

    def _rows(self, rows: dict[str, dict[str, dict[str, Any]]], reader: Reader) -> Iterator[Span]:
        for attempt_id, changed in rows.get("attempts", {}).items():
            attempt = reader.get(AttemptRecord, attempt_id) if "ended_at" in changed else None
            if attempt is not None:
                yield self._attempt(attempt)
        for operation_id, changed in rows.get("operations", {}).items():
            operation = reader.get(OperationRecord, operation_id) if changed.get("closed_at") else None
            if operation is not None:
                yield self._operation(operation)

    def _attempt(self, attempt: AttemptRecord) -> Span:
        facts: dict[str, Attribute] = {
            "counterfoil.operation_id": attempt.operation_id, "counterfoil.attempt": attempt.n,
            "counterfoil.worker_id": attempt.worker_id, "counterfoil.fence": attempt.fence,
            "counterfoil.reached": attempt.reached, "counterfoil.sent": "maybe" if attempt.sent else "no",
        }  # fmt: skip
        if attempt.answer_status is not None:
            facts["http.response.status_code"] = attempt.answer_status
        said = attempt.answer_class or "no_answer"
        return self._span(
            f"attempt {attempt.n}", "attempt", attempt.attempt_id, span_id(self.run_id, "operation", attempt.operation_id),
            attempt.started_at, attempt.ended_at or attempt.started_at, facts | {"counterfoil.answer_class": said},
            error=None if said == "applied" else said, calls=True,
        )  # fmt: skip

    def _operation(self, operation: OperationRecord) -> Span:
        facts: dict[str, Attribute] = {
            "counterfoil.operation_id": operation.operation_id, "counterfoil.operation_number": operation.number,
            "counterfoil.receiver": operation.receiver, "counterfoil.environment": operation.environment,
            "counterfoil.action": operation.action, "counterfoil.api_version": operation.api_version,
            "counterfoil.status": operation.status.value, "counterfoil.attempts": operation.attempts,
            "counterfoil.reused": operation.reused_from is not None,
        }  # fmt: skip
        if operation.case_letter:
            facts["counterfoil.case"] = operation.case_letter
        failed = (operation.reason or "failed") if operation.status is OperationStatus.FAILED else None
        return self._span(
            f"operation {operation.name}", "operation", operation.operation_id, self._root_id(),
            operation.prepared_at, operation.closed_at or operation.prepared_at, facts, error=failed,
        )  # fmt: skip

    # ------------------------------------------------------------------ parts

    def _life_at(self) -> int:
        return self.life.at if self.life is not None else self.began_at

    def _life_id(self) -> int:
        return span_id(self.run_id, "worker", self.life.sequence) if self.life is not None else self._root_id()

    def _span(  # noqa: PLR0913 - a span has that many parts
        self, name: str, what: str, which: str | int, parent: int | None, began: int, ended: int,
        facts: dict[str, Attribute], *, links: tuple[int, ...] = (), error: str | None = None, calls: bool = False,
    ) -> Span:  # fmt: skip
        given = facts | {"counterfoil.run_id": self.run_id}
        ident = span_id(self.run_id, what, which)
        return Span(name, trace_id(self.run_id), ident, parent, min(began, ended), ended, given, links, error, calls)


def _branch(position: str) -> str:
    return position.rpartition(".")[0]
