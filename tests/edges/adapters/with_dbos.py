"""A workflow of DBOS on a SQLite file, by the recipe. Its process dies; the next one recovers it."""

import asyncio
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID

from counterfoil import App, CounterfoilError
from counterfoil.testing.bench_child import place
from tests.edges.adapters.recipes import recipe
from tests.edges.adapters.refunds import OPERATIONS, Refund, Say, app, told_of_waiting

__all__ = ["app", "play"]

made = recipe("@DBOS.workflow()")
WORKFLOW = "refund-1"


def play(app: App, arguments: dict[str, Any], say: Say) -> None:
    place(app, arguments, say)
    made["refund"] = OPERATIONS[arguments["operation"]]
    url = f"sqlite:///{Path(arguments['folder']) / 'dbos.sqlite'}"
    DBOS(
        config={
            "name": "refunds", "system_database_url": url, "application_version": "1", "executor_id": "local",
            "notification_listener_polling_interval_sec": 0.01, "log_level": "CRITICAL", "console_log_level": "CRITICAL",
        }
    )  # fmt: skip
    try:
        say(asyncio.run(_played(app, arguments)))
    finally:
        DBOS.destroy(workflow_completion_timeout_sec=0)
    app.close()


async def _played(app: App, arguments: dict[str, Any]) -> dict[str, Any]:
    waiting = told_of_waiting(app)
    if arguments["how"] == "changed":  # the code was deployed anew meanwhile, and makes another payload
        made["Refund"] = lambda number, amount: Refund(number=number, amount=arguments["amount"])
    DBOS.launch()
    if arguments["how"] == "begin":
        with SetWorkflowID(WORKFLOW):
            handle = await DBOS.start_workflow_async(made["give_back"], arguments["number"], arguments["amount"])
    else:  # launching recovers what was not over
        handle = await DBOS.retrieve_workflow_async(WORKFLOW)
        if (await handle.get_status()).status == "ERROR":
            handle = await DBOS.fork_workflow_async(WORKFLOW, 1)
        elif arguments["how"] in ("resume", "changed"):
            await DBOS.send_async(WORKFLOW, "answered", topic="answered")
    result, waits = asyncio.ensure_future(handle.get_result()), asyncio.ensure_future(waiting())
    done, _ = await asyncio.wait({result, waits}, return_when=asyncio.FIRST_COMPLETED)
    if result not in done:
        return {"waits": waits.result()}
    try:
        return {"receipt": {"reference": result.result()}}
    except CounterfoilError as refused:
        return {"refused": refused.code}
