"""The refund as a Temporal workflow, its worker in the same process: `python on_temporal.py FOLDER REQUEST CHARGE`."""

import asyncio
import json
import os
import sys
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import httpx

LIMIT = timedelta(seconds=10)


@activity.defn
async def read_charge(charge: str) -> int:
    return json.loads(Path(os.environ["CHARGES"]).read_text())[charge]


@activity.defn
async def send(request: str, charge: str, amount: int) -> str:
    body = {"request": request, "charge": charge, "amount": amount}
    async with httpx.AsyncClient() as client:
        url = os.environ["RECEIVER"] + "/refunds"
        reply = await client.post(url, json=body, headers={"Idempotency-Key": request})
    reply.raise_for_status()
    return reply.json()["id"]


@workflow.defn
class Refund:
    @workflow.run
    async def run(self, request: str, charge: str) -> str:
        paid = await workflow.execute_activity(read_charge, charge, start_to_close_timeout=LIMIT)
        amount = paid // 2
        return await workflow.execute_activity(send, args=[request, charge, amount], start_to_close_timeout=LIMIT)


async def main(request: str, charge: str) -> None:
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    async with Worker(client, task_queue="refunds", workflows=[Refund], activities=[read_charge, send]):
        try:
            handle = await client.start_workflow(
                Refund.run, args=[request, charge], id=request, task_queue="refunds",
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            )  # fmt: skip
        except WorkflowAlreadyStartedError:
            handle = client.get_workflow_handle(request)
        try:
            await handle.result()
        except WorkflowFailureError:
            sys.exit(1)
    print(json.dumps({"state": "done"}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[2], sys.argv[3]))
