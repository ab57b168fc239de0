"""AWS Step Functions: an execution of a STANDARD state machine is started under our key as its name.

app.receiver("workflows", url=Env("AWS_ENDPOINT_URL", "https://states.eu-west-1.amazonaws.com"), environment="live")
start = step_functions.start(app, receiver="workflows", owner="platform-oncall")
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors import aws
from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen, When
from counterfoil.model.errors import StepFailed
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "aws_sfn_start_execution"
MACHINE = r"arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:[^:\s]+"  # no version, no alias: those name executions otherwise
NO_EXECUTION = "ExecutionDoesNotExist"
NO_MACHINE = "StateMachineDoesNotExist"
REFUSED = ("InvalidArn", "InvalidExecutionInput", "InvalidName", NO_MACHINE, "StateMachineDeleting")


class Execution(BaseModel):
    """`number`: yours. `machine`: the state machine's ARN. `input`: what it begins with."""

    number: str
    machine: Annotated[str, Target(), Field(pattern=f"^{MACHINE}$")]
    input: dict[str, Any] = {}


class ExecutionReceipt(Receipt):
    """`reference`: the execution's ARN."""

    started_at: str | None = None


def start(
    app: Declares,
    *,
    receiver: str = "step_functions",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Execution, ExecutionReceipt]:
    """`StartExecution`. `overrides`: what your account knows better than the catalogue, by attribute."""
    return declared(app, start_execution, start_contract(overrides), receiver, **governed)


def start_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `start`: the catalogue's, and by their codes the answers that come before anything is started.

    `ExecutionAlreadyExists` is none of them: it says that our name is there, begun with another input or closed. It is asked.
    """
    refused = [When(status=400, body={"Error.Code": code}).means("refused") for code in REFUSED]
    classifier = [*refused, When(status="2xx").means("applied")]
    return contract_of(
        ENTRY, action="StartExecution", find=find_execution, overrides={"classifier": classifier, **(overrides or {})}
    )


def start_execution(call: Call, execution: Execution) -> ExecutionReceipt:
    """One request under our key, which is the execution's name. An EXPRESS machine, which keeps no names, is refused before."""
    machine, region = execution.machine, aws.region_of(execution.machine)
    known = aws.read(
        "stepfunctions", region, lambda c: c.describe_state_machine(stateMachineArn=machine), absent=NO_MACHINE
    )
    if known is None:
        raise StepFailed("no_such_machine", f"There is no state machine {machine}.")
    if known.get("type", "STANDARD") != "STANDARD":
        raise StepFailed("not_standard", f"{machine} is of type {known['type']}: it starts again under the same name.")
    told = aws.sent(
        call,
        "stepfunctions",
        region,
        lambda client, key: client.start_execution(stateMachineArn=machine, name=key, input=_text(execution.input)),
    )
    return ExecutionReceipt(reference=told["executionArn"], started_at=told["startDate"].isoformat())


def find_execution(ask: Ask, execution: Execution) -> Seen[ExecutionReceipt]:
    """The execution of our name: there is at most one. Its input is compared."""
    arn = f"{execution.machine.replace(':stateMachine:', ':execution:')}:{ask.key}"
    region = aws.region_of(arn)
    held = aws.read("stepfunctions", region, lambda c: c.describe_execution(executionArn=arn), absent=NO_EXECUTION)
    if held is None:
        return Seen([], complete=True)
    receipt = ExecutionReceipt(reference=held["executionArn"], started_at=held["startDate"].isoformat())
    return Seen([Found(receipt, payload=_as_held(execution, held.get("input")))], complete=True)


def _as_held(execution: Execution, text: str | None) -> Execution | None:
    try:
        return execution.model_copy(update={"input": json.loads(text or "")})
    except ValueError:
        return None  # it shows that the name is taken, and not by what


def _text(given: dict[str, Any]) -> str:
    return json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
