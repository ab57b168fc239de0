"""The refund as a pi-durable task with a phase before the effect and one around it: `python on_pi_durable.py FOLDER REQUEST CHARGE`."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx
from pi_durable import Harness, create_registry, define_doc, define_extension, define_task
from pi_durable.context import BACKGROUND_CONTEXT
from pi_durable.storage.sqlite.posix import open_posix_sqlite_storage

RefundsDoc = define_doc(
    {
        "kind": "refunds", "version": 1, "scope": "session", "initial": lambda: {"tasks": {}},
        "checkpoint_when": lambda value, ops, info: False,
    }
)  # fmt: skip


async def read_charge(task: Any, runtime: Any, context: Any) -> None:
    paid = json.loads(Path(os.environ["CHARGES"]).read_text())[task["input"]["charge"]]
    chosen = {"phase": "send", "amount": paid // 2}
    await runtime.commit(lambda tx: {"status": "running", "checkpoint": chosen}, context)


async def send(task: Any, runtime: Any, context: Any) -> None:
    asked = task["input"]
    body = {**asked, "amount": task["state"]["checkpoint"]["amount"]}
    async with httpx.AsyncClient() as client:
        url = os.environ["RECEIVER"] + "/refunds"
        reply = await client.post(url, json=body, headers={"Idempotency-Key": asked["request"]})
    reply.raise_for_status()
    outcome = {"status": "succeeded", "value": {"reference": reply.json()["id"]}}
    await runtime.commit(lambda tx: {"status": "terminal", "outcome": outcome}, context)


async def stop(task: Any, runtime: Any, context: Any) -> None:
    await runtime.commit(lambda tx: {"status": "terminal", "outcome": {"status": "aborted"}}, context)


RefundTask = define_task(
    {
        "name": "refund", "version": 1, "initial": lambda _input: {"phase": "read_charge"},
        "phases": {"read_charge": read_charge, "send": send}, "abort": stop,
    }
)  # fmt: skip


async def main(folder: Path, request: str, charge: str) -> None:
    storage = await open_posix_sqlite_storage(str(folder / "pi.sqlite"))
    registry = create_registry()
    registry.install(define_extension({"name": "refunds", "tasks": [RefundTask]}))
    harness = await Harness.open(storage, {"models": {}, "registry": registry}, BACKGROUND_CONTEXT)
    conversation = await harness.root(BACKGROUND_CONTEXT)

    async def admitted(tx: Any) -> Any:
        tasks = (await tx.doc(RefundsDoc)).tasks
        if request not in tasks:
            given = {"request": request, "charge": charge}
            options = {"ownership": {"kind": "conversation"}, "conversationId": conversation.id}
            tasks[request] = await tx.create_task(RefundTask, given, options)
        return tasks[request]

    task_id = await harness.commit(admitted, BACKGROUND_CONTEXT)
    ended = await harness.wait_for_task(task_id, BACKGROUND_CONTEXT)
    await harness.close(BACKGROUND_CONTEXT)
    if ended["state"]["outcome"]["status"] != "succeeded":
        sys.exit(str(ended["state"]["outcome"]))
    print(json.dumps({"state": "done"}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
