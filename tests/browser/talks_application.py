"""The application behind the pages of conversations: an agent with a tool of each kind, and a model that plays what the user says.

Not imported: it is written out. Where a message says `slowly` the model waits twice: until nobody holds the files `go-0` and `go-1`
of the folder TALKS_GO. A gate that is open stays open: who asks a second time, for whatever reason, finds it so.
"""

SOURCE = """
import asyncio
import fcntl
import json
import os
from datetime import timedelta
from typing import Annotated
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Receipt, ReviewBy, SharedBudget, Target, When
from counterfoil.agents import agent_tool

app = App("Harbour House")
app.receiver("bank", url=Env("BANK_URL", "http://127.0.0.1:1"), environment="test")
KEY = IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24), other_body="rejects", saves={"2xx"})

class Refund(BaseModel):
    order: Annotated[str, Target()]
    note: str = ""

@app.operation(receiver="bank", business_key="order", review=ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="desk"),
               contract=Contract(api_version="1", duplicate="costly", key=KEY, classifier=[When(status="2xx").means("applied")]))
async def refund(call: Call, refund: Refund) -> Receipt:
    '''Give money back.'''
    reply = await call.http.post("/refunds", json=refund.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

def script(said):
    'What a message asks for: calls as [tool, arguments], then what is said.'
    word, _, rest = said.partition(" ")
    if word == "refund":
        return [["look", {"order": rest}], ["refund", {"order": rest}]], f"Order {rest} is paid back."
    if word == "pay":
        return [["pay", {"order": rest}]], f"I could not see whether {rest} was paid; somebody looks."
    if word == "hostile":
        return [["look", {"order": rest}]], rest
    return [], f"You said: {said}"

async def play(messages, info):
    said = [n for n, message in enumerate(messages) for part in message.parts if isinstance(part, UserPromptPart)]
    text = next(part.content for part in messages[said[-1]].parts if isinstance(part, UserPromptPart))
    calls, answer = script(str(text))
    if calls and not any(isinstance(message, ModelResponse) for message in messages[said[-1]:]):
        yield {n: DeltaToolCall(name=tool, json_args=json.dumps(arguments), tool_call_id=f"call-{len(messages)}-{n}")
               for n, (tool, arguments) in enumerate(calls)}
        return
    words = answer.split(" ")
    yield words[0]
    for n, word in enumerate(words[1:]):
        if "slowly" in answer and n < 2:
            with open(os.path.join(os.environ["TALKS_GO"], f"go-{n}")) as gate:
                await asyncio.to_thread(fcntl.flock, gate, fcntl.LOCK_SH)
        yield " " + word

agent = Agent(FunctionModel(stream_function=play, model_name="scripted"), name="helpdesk")

@agent.tool_plain
@agent_tool(replay="safe")
def look(order: str) -> dict:
    'Read an order.'
    return {"order": order, "item": "chair <i>blue</i>"}

@agent.tool_plain
def pay(order: str) -> str:
    'A tool that nobody declared, and that ends without a word.'
    raise ConnectionError("gone")

BUDGET = Budget(attempts=6, elapsed=timedelta(days=2), spend_usd=1, owner="desk")
app.budget(SharedBudget(name="All talks", scope="workflow", tokens=1_000_000, owner="desk"))
app.agent("helpdesk", agent=agent, budget=BUDGET, operations=[refund])
"""
