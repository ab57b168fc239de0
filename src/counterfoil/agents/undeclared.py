"""The operations that an agent's undeclared tools are called through: no key, no lookup, and never again after a doubt."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry
from pydantic_ai.exceptions import ToolFailed

from counterfoil.agents.declared import Declared, DidNotHappen, Happened
from counterfoil.agents.kept_returns import Keep, kept_return, words_of
from counterfoil.engine.definitions import Operation
from counterfoil.engine.inquiry import Answer, Inquiry
from counterfoil.engine.invoke import invoke_lookup
from counterfoil.engine.port import Call
from counterfoil.model.codec import parsed
from counterfoil.model.contract import Contract, When
from counterfoil.model.errors import Refused
from counterfoil.model.money import Target
from counterfoil.model.operation import UNDECLARED, AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.people import Owner
from counterfoil.model.receipt import Receipt, ReceiptRecord
from counterfoil.model.review import ReviewBy
from counterfoil.store.artifacts import Whole
from counterfoil.store.port import Reader

Called = Callable[..., Awaitable[Any]]  # takes `approved`: whether a review has let it pass


@dataclass(frozen=True, slots=True)
class AtHand:
    """The tool that a call runs, and what keeps a long return of it."""

    tool: Called
    keep: Keep


at_hand: ContextVar[AtHand] = ContextVar("at_hand")  # in the branch that called it

PROCEDURE = (
    "The call was interrupted. Look where the tool acts whether it did. It did: resolve it as succeeded, with what shows it. "
    "It did not: resolve it as failed; the model may then plan it again. It is never run again by itself."
)
OUTSIDE = "It was handed to something outside of this agent (CallDeferred); what comes of it is not told here."


class ToolCall(BaseModel):
    """The payload: which tool, with which arguments."""

    tool: Annotated[str, Target()]
    arguments: dict[str, Any]


class ToolReceipt(Receipt):
    """`returned` is what the tool gave; None where a person said that it happened."""

    returned: dict[str, Any] | None = None


class Undeclared:
    """The operations of one agent's undeclared tools: one without a review, and one for each role that reviews calls."""

    def __init__(self, agent: str, owner: Owner | str, longest: timedelta) -> None:
        self._agent, self._owner, self._longest = agent, owner, longest
        self._resolvers: dict[str, Callable[..., Any]] = {}
        self._reviewed: dict[str, Operation[Any, Any]] = {}
        self.receiver = f"{agent}_tools"
        self.plain = self._operation(f"{agent}_tool", None)

    @property
    def operations(self) -> list[Operation[Any, Any]]:
        return [self.plain, *self._reviewed.values()]

    def learns(self, tool: str, declared: Declared) -> None:
        """The tool's function that is asked after an interruption."""
        if declared.resolve is not None:
            self._resolvers[tool] = declared.resolve

    def has_review(self, review: ReviewBy) -> None:
        """At start: calls may be reviewed so. Raises Refused(two_reviews) for another review by the same role."""
        operation = self._operation(f"{self._agent}_tool_{review.role}", review)
        known = self._reviewed.setdefault(review.role, operation)
        if known.review != review:
            raise Refused("two_reviews", agent=self._agent, role=review.role)

    def reviewed(self, tool: str, declared: Declared) -> Operation[Any, Any]:
        """What a call is made through that needs an approval. Raises Refused(no_reviewer)."""
        operation = None if declared.review is None else self._reviewed.get(declared.review.role)
        # A part of the workflow has no instant at which a person could let it pass: what it does is reviewed where it does it.
        if operation is None or operation.review != declared.review or declared.replay == "run":
            raise Refused("no_reviewer", agent=self._agent, tool=tool)
        return operation

    def _operation(self, name: str, review: ReviewBy | None) -> Operation[Any, Any]:
        contract = Contract(
            api_version="1",
            action=UNDECLARED,
            classifier=[When(status=200).means("applied"), When(status=422).means("refused")],
            duplicate="irreversible",
            procedure=PROCEDURE,
            request_timeout=self._longest,
        )
        return Operation(name, call_once, self.receiver, contract, None, True, review, self._owner, self._inquiry)

    def _inquiry(self, wanted: ToolCall, operation_id: str) -> Inquiry | None:
        function = self._resolvers.get(wanted.tool)
        if function is None:
            return None

        async def ask(keep: Keep) -> Answer | None:
            found = await invoke_lookup(partial(function, operation_id, **wanted.arguments))
            match found:
                case Happened():
                    returned = None if found.returned is None else {"returned": await kept_return(found.returned, keep)}
                    return Answer(True, f"{wanted.tool} says so itself.", found.reference, returned)
                case DidNotHappen():
                    return Answer(False, found.reason)
                case None:
                    return None
                case _:
                    raise TypeError(f"it gave {type(found).__name__}, not Happened, DidNotHappen or None")

        return Inquiry(f"{function.__module__}:{function.__qualname__}", ask)


def answer_of(reader: Reader, record: OperationRecord) -> dict[str, Any]:
    """What a tool said that ended without a result. Raises LookupError where it said nothing."""
    attempts = reader.find(AttemptRecord, "operation_id", record.operation_id)
    if not attempts or attempts[-1].answer_status != 422 or not attempts[-1].exchange:
        raise LookupError(record.operation_id)
    return parsed(parsed(attempts[-1].exchange)["body"])


async def call_once(call: Call, wanted: ToolCall) -> ToolReceipt:
    """Run the tool of the branch that asked for it. Any exception but its own words for the model leaves a doubt."""
    del wanted
    at = at_hand.get()
    sending = call.sending()
    told = await asyncio.to_thread(sending.__enter__)  # it waits for a commit
    returned: dict[str, Any] = {}
    try:
        said = await said_by(at.tool, at.keep, once=True)
        if "returned" in said:
            returned = said
            told.reply(200, {"id": call.operation_id})
        else:
            told.reply(422, said)
    except BaseException as problem:
        sending.__exit__(type(problem), problem, problem.__traceback__)
        raise
    sending.__exit__(None, None, None)
    return ToolReceipt(reference=call.operation_id, returned=returned)


async def said_by(tool: Called, keep: Keep, *, once: bool = False) -> dict[str, Any]:
    """`{returned}`, or the tool's own words for the model: `{retry}`, `{failed}`, or `{approval}` where it asks for one.

    `once`: its words answer no other exception. A connection that broke, a time limit, an answer that could not be read: who
    turns these into `ModelRetry` does not know whether the tool acted, and "try again" would pay twice.
    """
    try:
        value = await tool()
    except (ModelRetry, ToolFailed) as word:
        if once and word.__context__ is not None:
            raise
        return words_of({"retry" if isinstance(word, ModelRetry) else "failed": word.message})
    except ApprovalRequired:
        return {"approval": True}
    except CallDeferred:  # its function has run, and may have begun something
        value = OUTSIDE
    return {"returned": await kept_return(value, keep)}


def telling(reader: Reader, record: OperationRecord, whole: Whole) -> str:
    """One sentence for the model about a call that was interrupted, once it is closed."""
    wanted = ToolCall.model_validate_json(record.payload)
    what = f"The interrupted call of {wanted.tool} (op-{record.number})"
    if record.status is OperationStatus.SUCCEEDED:
        receipt = reader.get(ReceiptRecord, record.receipt_id or "")
        if receipt is None:
            return f"{what} has happened."
        body = ToolReceipt.model_validate_json(receipt.body)
        returned = whole((body.returned or {}).get("returned"))
        gave = "" if returned is None else f" It returned {json.dumps(returned['value'], ensure_ascii=False)}."
        return f"{what} has happened; its reference is {receipt.reference}.{gave}"
    said: dict[str, Any] = parsed(record.resolution) if record.resolution else {}
    return f"{what} did not happen. {said.get('reason') or ''}".strip()
