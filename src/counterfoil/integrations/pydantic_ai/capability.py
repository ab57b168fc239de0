"""`Counterfoil`: operations as tools of an agent, and a run that is parked where one of its calls is in doubt or in review."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, durable_operation
from pydantic_ai.exceptions import CallDeferred, ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_core import to_jsonable_python

from counterfoil.engine.call_perform import payload_type
from counterfoil.engine.definitions import Operation
from counterfoil.integrations.outcome import Outcome, identity_of, outcome_of, told, waiting
from counterfoil.model.errors import Refused, StepFailed, Unresolved

if TYPE_CHECKING:
    from counterfoil.app.application import App

KEY = "counterfoil"  # where a deferred call's metadata says what it waits for


class Counterfoil(AbstractCapability[Any]):
    """Give `operations` to the model as tools. A call in doubt, or in review, is deferred: the run ends with
    `DeferredToolRequests`, whose metadata says under "counterfoil" what is uncertain, who resolves it, and how.

    Tools of the agent's own that call `app.ledger.perform` by `call_identity(ctx)` park the run in the same way. `id` becomes
    part of what a durable engine stores: keep it.
    """

    def __init__(self, app: "App", operations: Sequence[Operation[Any, Any]] = (), *, id: str = "counterfoil") -> None:
        self.id = id
        self.description = None
        self.defer_loading = False
        self._app = app
        self._operations = {operation.name: operation for operation in operations}

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None

    def get_toolset(self) -> FunctionToolset[Any]:
        return FunctionToolset([self._tool(operation) for operation in self._operations.values()], id=self.id)

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], handler: Any
    ) -> Any:
        """What a tool of the agent's own says of the ledger becomes what Pydantic AI understands."""
        try:
            return await handler(args)
        except Unresolved as doubt:
            raise CallDeferred(metadata={KEY: waiting(doubt, call_identity(ctx))}) from doubt
        except StepFailed as failed:
            raise ToolFailed(told(call.tool_name, failed)) from failed

    @durable_operation(name="perform")
    async def perform(self, ctx: RunContext[Any], operation: str, identity: str, payload: dict[str, Any]) -> Outcome:
        """Perform one call. Under a durable engine it is an activity, a step or a task of its own, which may run again."""
        return await outcome_of(self._app, self._operations[operation], payload, identity)

    async def results(self, requests: DeferredToolRequests) -> DeferredToolResults:
        """Ask the ledger again: the results to resume with, of every call that it deferred.

        Only the ledger's record counts, never the request: changed arguments are refused, and the model hears it.
        Raises Unresolved for the first call that still waits, and Refused(not_found) for one that was never asked for here: a
        request comes from outside, and must perform nothing new.
        """
        calls: dict[str, Any] = {}
        for call in requests.calls:
            waits: dict[str, Any] | None = requests.metadata.get(call.tool_call_id, {}).get(KEY)
            operation = self._operations.get(call.tool_name)
            if waits is None or operation is None:
                continue
            if not self._app.ledger.knows(waits["identity"]):
                raise Refused("not_found", what="call with the identity", id=waits["identity"])
            outcome = await outcome_of(self._app, operation, call.args_as_dict(), waits["identity"])
            calls[call.tool_call_id] = _resumed(outcome)
        return requests.build_results(calls=calls)

    def _tool(self, operation: Operation[Any, Any]) -> Tool[Any]:
        async def planned(ctx: RunContext[Any], payload: Any) -> Any:
            plain = cast("dict[str, Any]", to_jsonable_python(payload))
            outcome = await self.perform(ctx, operation.name, call_identity(ctx), plain)
            if outcome.waits is not None:
                raise CallDeferred(metadata={KEY: outcome.waits})
            if outcome.refused is not None:
                raise ToolFailed(outcome.refused)
            return outcome.receipt

        planned.__annotations__ = {"ctx": RunContext[Any], "payload": payload_type(operation), "return": Any}
        described = (operation.function.__doc__ or "").strip() or None
        return Tool(planned, takes_ctx=True, name=operation.name, description=described)


def call_identity(ctx: RunContext[Any]) -> str:
    """The identity of the call that a tool is answering: the run that planned it, the tool, and the id of the call.

    The run is read from the message that planned the call, so it is the same when another run resumes with the history. Of calls of
    one run with the same id the later ones are numbered: there are models that number their calls anew each time.
    Raises Refused(no_identity) outside a tool's call, and for a history whose messages name no run: what stands in for it would be
    another one at each resume.
    """
    plans = [message.run_id for message in ctx.messages if _plans(message, ctx.tool_call_id)]
    run_id = plans[-1] if plans else None
    again = plans[:-1].count(run_id)
    parts = ["pydantic-ai", run_id, ctx.tool_name, ctx.tool_call_id]
    return identity_of(*parts, str(again)) if again else identity_of(*parts)


def _plans(message: Any, call_id: str | None) -> bool:
    return isinstance(message, ModelResponse) and any(call.tool_call_id == call_id for call in message.tool_calls)


def _resumed(outcome: Outcome) -> Any:
    if outcome.waits is not None:
        waits = outcome.waits
        raise Unresolved(
            waits["run_id"], waits["operation_id"], waits["next_action"].get("command") or "",
            sentence=waits["sentence"], uncertain=waits["uncertain"], next_action=waits["next_action"],
        )  # fmt: skip
    return outcome.receipt if outcome.refused is None else ToolFailed(outcome.refused)
