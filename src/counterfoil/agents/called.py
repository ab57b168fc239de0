"""A call of a tool, as what the tool declares: a step, an operation, another agent's turn, or called once only."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ToolFailed
from pydantic_core import to_jsonable_python

from counterfoil.agents.declared import set_current_run
from counterfoil.agents.marked import Mark
from counterfoil.agents.messages import returned_of, returned_plain
from counterfoil.agents.undeclared import AtHand, Called, ToolCall, Undeclared, answer_of, at_hand, said_by, telling
from counterfoil.engine.call_perform import payload_adapter
from counterfoil.engine.call_tool import TOOL, Interrupted, again, counted, held, once_only, receipt_of
from counterfoil.engine.call_wait import microseconds
from counterfoil.engine.context import EmbeddedRun
from counterfoil.engine.definitions import Operation, Step, Workflow, loaded
from counterfoil.engine.leaving import unless_cancelled
from counterfoil.model.budget import Retry
from counterfoil.model.codec import compact
from counterfoil.model.conversation import Turn
from counterfoil.model.errors import (
    CounterfoilError,
    OperationFailed,
    Refused,
    ReviewExpired,
    ReviewRejected,
    StepFailed,
)
from counterfoil.model.operation import OperationRecord
from counterfoil.model.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is called: what it is, and the function behind it."""

    mark: Mark
    call: Called


class Calls:
    """The calls of one turn. `heard`: the interrupted ones of which the model was told how they ended."""

    def __init__(self, run: EmbeddedRun, undeclared: Undeclared, heard: set[str]) -> None:
        self._run = run
        self._execution = run.execution
        self._undeclared = undeclared
        self._heard = heard
        self._rejected: dict[str, Proposal[Any, Any]] = {}

    def telling(self, record: OperationRecord) -> str:
        with self._execution.opened.read() as reader:
            return telling(reader, record, self._execution.opened.artifacts.whole)

    async def _keep(self, content: bytes) -> str:
        save = self._execution.opened.artifacts.save
        return (await asyncio.to_thread(save, content, name="tool return")).digest

    async def called(self, name: str, arguments: dict[str, Any], tool: Tool) -> Any:
        """What it gives the model. Raises ModelRetry, ToolFailed; Refused(no_reviewer)."""
        mark = tool.mark
        if mark.declared.replay == "safe" and not mark.approval:
            await counted(self._execution, name)
            said = await self._safe(name, arguments, tool)
            if "approval" not in said:
                return self._given(name, said)
        if mark.declared.replay == "run" and not mark.approval:
            await counted(self._execution, name)
            return await self._in_run(name, tool)
        waited = await held(self._execution, f"the call of {name}")
        if waited is not None:
            self._heard.update(record.operation_id for record in waited)
            told = " ".join(self.telling(record) for record in waited)
            raise ToolFailed(f"{name} was not run: it was planned before this was known. {told} Plan anew from here.")
        # The ledger counts an operation when it is sent, under its own name; the model may know it under another one.
        if not isinstance(mark.through, Operation) or mark.through.name != name:
            await counted(self._execution, name)
        if isinstance(mark.through, Operation):
            return await self._performed(mark.through, arguments[mark.payload] if mark.payload else arguments)
        if mark.through is not None:
            return await self._asked(name, mark.through, arguments["text"])
        return await self._once(name, arguments, tool)

    async def _in_run(self, name: str, tool: Tool) -> Any:
        """A part of the workflow: all that it does stands at positions of its branch."""
        set_current_run(self._run)
        try:
            return returned_of(returned_plain(await tool.call()))
        except StepFailed as failed:
            raise ToolFailed(f"{name} failed: {failed.message}") from failed

    async def _safe(self, name: str, arguments: dict[str, Any], tool: Tool) -> dict[str, Any]:
        retry = Retry(tries=tool.mark.declared.tries, pause=tool.mark.declared.pause)
        step = Step(f"{TOOL}{name}", retry, counted=name)
        try:
            outcome = await again(
                self._execution, step, _json(name, arguments), partial(said_by, tool.call, self._keep)
            )
        except StepFailed as failed:
            raise ToolFailed(f"{name} failed: {failed.message}") from failed
        return outcome.value["out"]

    async def _asked(self, name: str, agent: Workflow[Turn, Any], text: str) -> Any:
        """Another agent's turn, as a run of its own. Where that is in doubt, this one sends nothing (rule 13)."""
        position = self._execution.branch.prefix
        try:
            output = await self._run.child(agent, Turn(text=text), request_id=f"{self._run.id} {position}")
        except CounterfoilError as failed:
            raise ToolFailed(f"{name} gave no answer: {failed.message}") from failed
        return to_jsonable_python(output, serialize_unknown=True)

    async def _once(self, name: str, arguments: dict[str, Any], tool: Tool) -> Any:
        wanted = ToolCall(tool=name, arguments=_json(name, arguments))
        said = {"approval": True}
        if not tool.mark.approval:
            said = await self._through(self._undeclared.plain, wanted, tool.call)
        if (
            "approval" in said
        ):  # asked by the tool itself, before it did anything: the call that a person lets pass is another
            reviewed = self._undeclared.reviewed(name, tool.mark.declared)
            said = await self._through(reviewed, wanted, partial(tool.call, approved=True))
        return self._given(name, said)

    async def _through(self, operation: Operation[Any, Any], wanted: ToolCall, call: Called) -> dict[str, Any]:
        """Once only, through the ledger: what the tool said. Raises ToolFailed for what the model hears instead."""
        token = at_hand.set(AtHand(partial(self._while_wanted, call, operation), self._keep))
        try:
            record = await once_only(self._execution, operation, wanted)
        except ReviewRejected as rejected:
            raise ToolFailed(f"{wanted.tool} was not run: {_rejection(rejected)}") from rejected
        except ReviewExpired as expired:
            raise ToolFailed(f"{wanted.tool} was not run: {expired.message}") from expired
        except Refused as refused:  # it was refused before it was stored: a number or a text that no record can hold
            raise ToolFailed(f"{wanted.tool} was not run: {refused.message}") from refused
        finally:
            at_hand.reset(token)
        if isinstance(record, Interrupted):
            raise ToolFailed(
                f"{wanted.tool} was interrupted, and its outcome is unknown (op-{record.number}). It may have happened. It is "
                "not run again. Somebody finds out; nothing else is written until then. Go on with what only reads."
            )
        return self._said(wanted.tool, record)

    async def _while_wanted(self, call: Called, operation: Operation[Any, Any], **how: Any) -> Any:
        """Nobody knows what it did if it is left. A cancelled run waits for it, and at most its longest time."""
        longest = microseconds(operation.contract.request_timeout)
        over = TimeoutError("the run was cancelled, and the tool's longest time is over")
        return await unless_cancelled(self._execution, call(**how), over, within_us=longest)

    def _said(self, name: str, record: OperationRecord) -> dict[str, Any]:
        receipt = receipt_of(self._execution, record)
        if receipt is None:
            with suppress(LookupError), self._execution.opened.read() as reader:
                return answer_of(reader, record)
            if record.resolution is not None:
                raise ToolFailed(self.telling(record))
            raise ToolFailed(f"{name} was not run: {record.withdrawn or record.reason or 'refused'}.")
        if receipt.get("returned") is None:
            return {"returned": {"value": self.telling(record), "content": None, "metadata": None}}
        return receipt["returned"]

    def _given(self, name: str, said: Mapping[str, Any]) -> Any:
        if "retry" in said:
            raise ModelRetry(said["retry"])
        if "failed" in said:
            raise ToolFailed(said["failed"])
        if "approval" in said:
            raise ToolFailed(f"{name} was approved, and asks for an approval again: it did nothing.")
        return returned_of(self._execution.opened.artifacts.whole(said["returned"]))

    async def _performed(self, operation: Operation[Any, Any], payload: Any) -> Any:
        """Through the ledger. What the model may answer is told to it; everything else suspends the run."""
        try:
            if isinstance(payload, dict):  # an MCP server's tool: nobody has read its arguments as the payload yet
                payload = loaded(payload_adapter(operation), payload, where=f"the payload of {operation.name}")
            replaced = self._rejected.pop(operation.name, None)
            proposal = await self._run.propose(operation, payload, replaces=replaced)
        except Refused as refused:
            raise ToolFailed(f"{operation.name} was not run: {refused.message}") from refused
        try:
            receipt = await self._run.perform(operation, proposal)
        except ReviewRejected as rejected:
            if rejected.ask_revision:
                self._rejected[operation.name] = proposal
            raise ToolFailed(f"{operation.name} was not sent: {_rejection(rejected)}") from rejected
        except (ReviewExpired, OperationFailed) as failed:
            raise ToolFailed(failed.message) from failed
        return receipt.model_dump(mode="json")


def _rejection(rejected: ReviewRejected) -> str:
    asked = "asked for a revision" if rejected.ask_revision else "rejected it"
    return f"{rejected.reviewer} {asked}: {rejected.comment}"


def _json(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as they are recorded, reviewed and compared. What no record can hold would be another call than that."""
    plain: dict[str, Any] = to_jsonable_python(arguments, serialize_unknown=True)
    try:
        compact(plain)
    except ValueError as problem:
        raise ToolFailed(f"{name} was not run: its arguments have no JSON form ({problem}).") from problem
    return plain
