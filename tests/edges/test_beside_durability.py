"""`Counterfoil` beside another engine's durability: the performing is a step of its own, and a replay does not repeat it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil.integrations.pydantic_ai import Counterfoil
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import House
from tests.engine.writes import create_case


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    heard = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    return ModelResponse(
        parts=[TextPart(str(heard[0].content)) if heard else ToolCallPart("create_case", {"number": "1"})]
    )


def test_beside_dbos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SandboxProcess("key") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        house.found()
        beside = Counterfoil(house.app, [create_case(house.app)])
        capabilities: list[Any] = [DBOSDurability(), beside]
        agent = Agent(
            FunctionModel(answer), name="desk", output_type=[str, DeferredToolRequests], capabilities=capabilities
        )

        @DBOS.workflow()
        async def turn() -> str:
            return str((await agent.run("Open a case.")).output)

        async def story() -> None:
            DBOS.launch()
            with SetWorkflowID("w"):
                said = await (await DBOS.start_workflow_async(turn)).get_result()
            steps = await DBOS.list_workflow_steps_async("w")
            (performed,) = [step for step in steps if "perform" in step["function_name"]]
            again = await (
                await DBOS.fork_workflow_async("w", performed["function_id"])
            ).get_result()  # that step runs again
            assert said == again and str(crm.records()[0]["id"]) in said and len(crm.records()) == 1

        DBOS(config={"name": "beside", "system_database_url": f"sqlite:///{tmp_path / 'dbos.sqlite'}"})
        try:
            asyncio.run(story())
        finally:
            DBOS.destroy(workflow_completion_timeout_sec=0)
            house.app.close()
