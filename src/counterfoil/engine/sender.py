"""One attempt: the user's operation function under a gate that lets one write out, once it is in flight."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, cast

from counterfoil.engine.attempts import EndAttempt, MarkInFlight
from counterfoil.engine.call_step import shares_here
from counterfoil.engine.clock import Clock, boot_id, host_name
from counterfoil.engine.definitions import Operation, dumped, loaded, signature_of
from counterfoil.engine.endpoint import endpoint_of
from counterfoil.engine.execution import Execution
from counterfoil.engine.failures import said
from counterfoil.engine.invoke import invoke
from counterfoil.engine.kept_place import kept_place
from counterfoil.engine.receipts import kept_receipt
from counterfoil.engine.situation import Target, called_of
from counterfoil.engine.steps import CountTry
from counterfoil.engine.under_way import Sent
from counterfoil.engine.withdraw import Withdraw
from counterfoil.model.codec import digest_of, parsed
from counterfoil.model.contract import Meaning
from counterfoil.model.errors import CounterfoilError, Refused, StepFailed
from counterfoil.model.exchange import CLOCKS_DISAGREE, NEVER_BEGUN, TOO_LATE, Exchange, Told
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.receivers.hiding import secrets_of
from counterfoil.receivers.http import AttemptOver, Sender
from counterfoil.receivers.sending import Sending
from counterfoil.rules.classify import classify
from counterfoil.rules.evidence import UNNAMED
from counterfoil.rules.key_window import key_of

MARGIN_US = 5_000_000  # an attempt's deadline lies this far behind its request's time-out


def deadline_passed(clock: Clock, boot_deadline: int, wall_deadline: int) -> bool:
    """Nothing may begin to leave any more: on the earlier of a clock that counts sleep and the wall clock."""
    return clock.boot_us() >= boot_deadline or clock.now_us() >= wall_deadline


class AttemptGate:
    """The engine's side of one attempt: in flight before a byte leaves, and no byte after the deadline."""

    def __init__(self, execution: Execution, target: Target, timeout_us: int) -> None:
        self._execution = execution
        self._target = target
        self.lasts_us = timeout_us + MARGIN_US  # from when it is marked in flight
        self._boot_deadline = 0
        self._wall_deadline = 0
        self.attempt: AttemptRecord | None = None
        self.key_number = 0
        self.ruled_otherwise = False

    def _verb(self, request_digest: str | None) -> MarkInFlight:
        # Readings taken before the in-flight verb is queued: a writer that was slow, or a process that slept, eats its own
        # time. The earlier of a clock that counts sleep and the wall clock ends the attempt.
        clock = self._execution.opened.clock
        self._boot_deadline = clock.boot_us() + self.lasts_us
        self._wall_deadline = clock.now_us() + self.lasts_us
        run = self._execution.run
        return MarkInFlight(
            run.run_id,
            self._target,
            run.fence,
            self._execution.worker_id,
            host_name(),
            boot_id(),
            request_digest,
            self._wall_deadline,
        )

    def _taken(self, answer: Any) -> None:
        if not isinstance(answer, AttemptRecord):
            self.ruled_otherwise = True
            raise AttemptOver("the recovery table rules otherwise by now")
        self.attempt = answer
        assert answer.key_number == self.key_number, "the key on the wire is the key on record"

    async def before_send(self, request_digest: str) -> None:
        self._taken(await self._execution.write(self._verb(request_digest)))

    def enter(self) -> str | None:
        """For `call.sending()`: blocks, since a vendor's SDK blocks as well."""
        self._taken(self._execution.opened.writer.ask(self._verb(None)))
        self.first_byte()
        assert self.attempt is not None
        return self.attempt.idempotency_key

    def first_byte(self) -> None:
        self._execution.opened.boundaries.reach("operation.first_byte")
        opened = self._execution.opened
        if deadline_passed(opened.clock, self._boot_deadline, self._wall_deadline):
            raise AttemptOver(TOO_LATE)
        if opened.clock_jumped():
            raise AttemptOver(CLOCKS_DISAGREE)

    def replied(self, exchange: Exchange) -> None:
        del exchange
        self._execution.opened.boundaries.reach("operation.replied")


class OperationCall:
    """First argument of an operation: one attempt, one write."""

    def __init__(
        self,
        execution: Execution,
        operation: Operation[Any, Any],
        record: OperationRecord,
        gate: AttemptGate,
        key_number: int,
    ) -> None:
        endpoint = endpoint_of(execution.opened.registry, operation, execution.opened.environ)
        contract = operation.contract
        self.approval_scope = endpoint.approval_scope
        self.operation_id = record.operation_id
        self.attempt = record.attempts + 1
        self.key = key_of(contract, record, key_number)
        self._contract = contract
        self._gate = gate
        self._secrets = secrets_of(endpoint.headers)
        self.http = Sender(
            url=endpoint.url,
            headers=endpoint.headers,
            key=self.key,
            operation_id=record.operation_id,
            contract=contract,
            gate=gate,
            timeout_s=contract.request_timeout.total_seconds(),
        )
        self._sending: Sending | None = None

    def sending(self, *, answered: Callable[[Exception], Told | None] | None = None) -> AbstractContextManager[Sending]:
        self._sending = Sending(
            enter=self._gate.enter,
            contract=self._contract,
            replied=self._gate.replied,
            answered=answered,
            secrets=self._secrets,
        )
        return self._sending

    @property
    def exchange(self) -> Exchange | None:
        if self._sending is not None and self._sending.exchange is not None:
            return self._sending.exchange
        return self.http.exchange


def next_key_number(record: OperationRecord, newest_attempt_at: int) -> int:
    """The key number the next attempt carries: one more where a person ordered a new key that no attempt has used yet."""
    if record.resolution is None:
        return record.key_number
    said = parsed(record.resolution)
    ordered = said["as"] == "send_again" and said["new_key"] and newest_attempt_at < (record.resolved_at or 0)
    return record.key_number + int(ordered)


def stored_payload(operation: Operation[Any, Any], record: OperationRecord) -> Any:
    """The payload as the operation's function takes it. Raises Refused: payload_altered, invalid_payload; then it is not sent.

    What people approved is the digest. A payload that was edited in the database no longer has it.
    """
    if digest_of(record.payload.encode()) != record.payload_digest:
        raise Refused("payload_altered", operation_id=record.operation_id, digest=record.payload_digest)
    adapter = signature_of(operation.function, skip=1).inputs[0][1]
    return loaded(adapter, parsed(record.payload), where=f"the stored payload of {operation.name}")


async def attempt(
    execution: Execution, operation: Operation[Any, Any], record: OperationRecord, target: Target, payload: Any
) -> None:
    """One try. What happened is said by the contract over the exchange; the function's return value only types the receipt."""
    with execution.opened.under_way.attempt(execution.worker_id):
        await _tried(execution, operation, record, target, payload)


async def _tried(
    execution: Execution, operation: Operation[Any, Any], record: OperationRecord, target: Target, payload: Any
) -> None:
    gate = AttemptGate(execution, target, int(operation.contract.request_timeout.total_seconds() * 1_000_000))
    with execution.opened.read() as reader:
        attempts = reader.find(AttemptRecord, "operation_id", record.operation_id)
    key_number = next_key_number(record, max((a.started_at for a in attempts), default=0))
    call = OperationCall(execution, operation, record, gate, key_number)
    if call.approval_scope != target.approval_scope:
        return  # the credential was exchanged between the ruling and the bytes: it is ruled on again, for the new one
    gate.key_number = key_number
    signature = signature_of(operation.function, skip=1)
    result: Any = None
    problem: BaseException | None = None
    sent = Sent(operation.function, execution.opened.under_way, execution.worker_id)
    try:
        async with kept_place(execution.opened, target.tap, gate.lasts_us, lambda: gate.attempt):
            result = await invoke(sent.function, call, payload)
        if gate.attempt is None and not gate.ruled_otherwise:
            problem = RuntimeError("the operation's function returned without a write")
    except AttemptOver:
        pass
    except (Exception, asyncio.CancelledError) as raised:
        problem = raised
    if sent.goes_on and problem is not None:
        raise problem  # its loop ends, and its thread goes on: nothing says that nothing more leaves
    call.http.shut()  # a write that the tool left running must not send after its sender is recorded gone
    if gate.attempt is None:
        await _before_any_byte(execution, record, problem)
        return
    exchange = call.exchange or Exchange("nothing", False, problem=NEVER_BEGUN)
    meaning = classify(operation.contract, exchange)
    receipt = None
    if meaning is Meaning.APPLIED:
        receipt = await kept_receipt(execution.opened.artifacts, _receipt(signature.result, result, exchange))
    await execution.write(
        EndAttempt(
            execution.run.run_id, target, gate.attempt.attempt_id, execution.run.fence, exchange, meaning, receipt
        )
    )


async def _before_any_byte(execution: Execution, record: OperationRecord, problem: BaseException | None) -> None:
    """The function ended without a write. A StepFailed is its last word; anything else is a try that failed."""
    run = execution.run
    if isinstance(problem, StepFailed):
        await execution.write(
            Withdraw(run.run_id, run.fence, record.operation_id, f"{problem.code}: {problem.message}")
        )
    elif problem is not None:
        data = {"operation_id": record.operation_id, "problem": said(problem)}
        await execution.write(
            CountTry(
                run.run_id,
                run.fence,
                f"drive {record.operation_id}",
                record.name,
                data,
                execution.opened.deadlines,
                shares=shares_here(execution, called_of(record)),
            )
        )


def _receipt(adapter: Any, result: Any, exchange: Exchange) -> dict[str, Any]:
    """The typed receipt; where the function failed after an applied answer, what the answer itself shows."""
    try:
        plain: dict[str, Any] = dumped(adapter, result, where="the receipt")
        if plain.get("reference"):
            return plain
    except (CounterfoilError, AttributeError):
        pass
    try:
        found = cast("dict[str, Any]", exchange.json()).get("id")
    except (ValueError, AttributeError):
        found = None
    return {"reference": str(found) if found else f"{UNNAMED} {exchange.request_digest or ''}".strip()}
