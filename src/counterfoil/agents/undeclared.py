"""The operation that every undeclared tool of an agent is called through: no key, no lookup, and never again after a doubt."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel
from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ToolFailed

from counterfoil.agents.messages import returned_plain
from counterfoil.engine.definitions import Operation
from counterfoil.engine.execution import Execution
from counterfoil.engine.port import Call
from counterfoil.model.codec import parsed
from counterfoil.model.contract import Contract, When
from counterfoil.model.money import Target
from counterfoil.model.operation import UNDECLARED, AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.people import Owner
from counterfoil.model.receipt import Receipt, ReceiptRecord
from counterfoil.store.port import Reader

Called = Callable[[], Awaitable[Any]]
at_hand: ContextVar[Called] = ContextVar("at_hand")  # the tool that a call runs, in the branch that called it

PROCEDURE = (
    "The call was interrupted. Look where the tool acts whether it did. It did: resolve it as succeeded, with what shows it. "
    "It did not: resolve it as failed; the model may then plan it again. It is never run again by itself."
)


class ToolCall(BaseModel):
    """The payload: which tool, with which arguments."""

    tool: Annotated[str, Target()]
    arguments: dict[str, Any]


class ToolReceipt(Receipt):
    """`returned` is what the tool gave; None where a person said that it happened."""

    returned: dict[str, Any] | None = None


class Undeclared:
    """Makes the operation of one agent, and reads what its refused calls said."""

    @staticmethod
    def operation(agent: str, owner: Owner | str, longest: timedelta) -> Operation[Any, Any]:
        contract = Contract(
            api_version="1",
            action=UNDECLARED,
            classifier=[When(status=200).means("applied"), When(status=422).means("refused")],
            duplicate="irreversible",
            procedure=PROCEDURE,
            request_timeout=longest,
        )
        return Operation(f"{agent}_tool", call_once, f"{agent}_tools", contract, None, True, None, owner)

    @staticmethod
    def answer(execution: Execution, record: OperationRecord) -> dict[str, Any]:
        """What a tool said that ended without a result. Raises LookupError where it said nothing."""
        with execution.opened.read() as reader:
            attempts = reader.find(AttemptRecord, "operation_id", record.operation_id)
        if not attempts or attempts[-1].answer_status != 422 or not attempts[-1].exchange:
            raise LookupError(record.operation_id)
        return parsed(parsed(attempts[-1].exchange)["body"])


async def call_once(call: Call, wanted: ToolCall) -> ToolReceipt:
    """Run the tool of the branch that asked for it. Any exception but its own two words for the model leaves a doubt."""
    del wanted
    tool = at_hand.get()
    sending = call.sending()
    told = await asyncio.to_thread(sending.__enter__)  # it waits for a commit
    returned: dict[str, Any] = {}
    try:
        try:
            returned = {"returned": returned_plain(await tool())}
        except ModelRetry as retry:
            told.reply(422, {"retry": retry.message})
        except ToolFailed as failed:
            told.reply(422, {"failed": failed.message})
        else:
            told.reply(200, {"id": call.operation_id})
    except BaseException as problem:
        sending.__exit__(type(problem), problem, problem.__traceback__)
        raise
    sending.__exit__(None, None, None)
    return ToolReceipt(reference=call.operation_id, returned=returned)


def telling(reader: Reader, record: OperationRecord) -> str:
    """One sentence for the model about a call that was interrupted, once it is closed."""
    wanted = ToolCall.model_validate_json(record.payload)
    what = f"The interrupted call of {wanted.tool} (op-{record.number})"
    if record.status is OperationStatus.SUCCEEDED:
        receipt = reader.get(ReceiptRecord, record.receipt_id or "")
        return f"{what} has happened; its reference is {receipt.reference if receipt is not None else 'not known'}."
    said: dict[str, Any] = parsed(record.resolution) if record.resolution else {}
    return f"{what} did not happen. {said.get('reason') or ''}".strip()
