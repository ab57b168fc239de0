"""A stream that ends in good form in the middle of an answer: half a call of a tool is not a decision."""

import asyncio
import json
from pathlib import Path

import pydantic_ai.models
import pytest
from pydantic_ai import Agent
from pydantic_ai.providers.openai import OpenAIProvider

from counterfoil.model.conversation import Turn
from counterfoil.testing.model_server.process import ModelServerProcess
from tests.engine.house import BUDGET, House

TELL = {"tool": "tell", "arguments": {"text": "the whole sentence that was planned", "times": 2}}
DONE = {"text": "It is told."}


@pytest.mark.parametrize("protocol", ["openai-chat:gpt-5", "openai-responses:gpt-5"])
@pytest.mark.parametrize("fault", ["end-stream", "cut-stream"])
def test_half_an_answer_is_asked_again_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, protocol: str
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([TELL, TELL, DONE]))
    house, told = House(tmp_path, monkeypatch), []
    with ModelServerProcess(script=script, fault=f"{fault}:1") as server:
        provider = OpenAIProvider(base_url=server.base_url, api_key="none")
        agent = Agent(pydantic_ai.models.infer_model(protocol, lambda _: provider), output_type=str, name="desk")

        @agent.tool_plain
        def tell(text: str = "nothing", times: int = 1) -> str:
            told.append((text, times))
            return "told"

        desk = house.app.agent("desk", agent=agent, budget=BUDGET)
        house.found()

        async def body() -> None:
            async with house.working():
                turn = await house.app.submit(desk.workflow, Turn(text="tell it"), request_id="r-1")
                await house.state(turn.run_id, "waiting")
                house.clock.advance(2)
                assert await turn.result() == "It is told."
            assert told == [("the whole sentence that was planned", 2)]
            kinds = [kind for kind, _, _ in house.entries(turn.run_id)]
            assert (kinds.count("asked"), kinds.count("decision"), server.requests_answered()) == (3, 2, 3)
            (problem,) = [data["problem"] for kind, _, data in house.entries(turn.run_id) if kind == "try_failed"]
            assert fault == "cut-stream" or "without saying that its answer was over" in problem
            house.clean()

        asyncio.run(body())
