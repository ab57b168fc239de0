"""Step Functions against moto, which keeps names as the API does, also of executions that are closed."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import step_functions
from counterfoil.connectors.drilling import (
    ACCEPTED,
    Case,
    Drill,
    Play,
    as_usual,
    killed_after_acceptance,
    reply_lost,
    taken_over,
)
from counterfoil.connectors.serving_aws import ACCOUNT, SERVER, Moto
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget

WAITS = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 3600, "End": True}}}

app = App("drilled-step-functions")
app.receiver("workflows", url=Env("AWS_ENDPOINT_URL"), environment="test")
start = step_functions.start(app, receiver="workflows", owner="platform-oncall")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform-oncall"))
async def begin(run: Run, asked: step_functions.Execution) -> step_functions.ExecutionReceipt:
    """One execution."""
    return await run.perform(start, asked)


class StepFunctions(Moto):
    """Each case has a state machine of its own."""

    def prepare(self, number: str) -> dict[str, Any]:
        """The machine; its executions wait for an hour."""
        self.disarm()
        made = self.at("stepfunctions").create_state_machine(
            name=number.replace(".", "-"), definition=json.dumps(WAITS), roleArn=f"arn:aws:iam::{ACCOUNT}:role/drilled"
        )
        self._machine = made["stateMachineArn"]
        return {"number": number, "machine": self._machine, "input": {"order": 7}}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The executions of its machine."""
        return len(self._executions(payload["machine"]))

    def finish(self) -> None:
        """Every execution of this case is closed."""
        for execution in self._executions(self._machine):
            self.at("stepfunctions").stop_execution(executionArn=execution["executionArn"])

    def _executions(self, machine: str) -> list[dict[str, Any]]:
        return self.at("stepfunctions").list_executions(stateMachineArn=machine)["executions"]


async def closed_meanwhile(play: Play) -> None:
    """The same crash, and the execution is over before anybody goes on: the repeat is answered that the name exists."""
    await play.drive(crash_at=ACCEPTED)
    play.server.finish()
    await play.drive()


DRILLS = [
    Drill(
        connector="step_functions.start",
        entries=[step_functions.ENTRY],
        app=app,
        workflow=begin,
        server=SERVER,
        server_kind="real",
        start=StepFunctions,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("taken-over", "succeeded", taken_over, attempts=2),
            Case("closed-meanwhile", "succeeded", closed_meanwhile, attempts=1),
        ],
    )
]
