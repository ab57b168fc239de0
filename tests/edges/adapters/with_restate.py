"""A workflow of Restate, by the recipe. Each process serves it, at the same place as the one before, and calls it."""

import asyncio
import socket
from contextlib import suppress
from typing import Any

import httpx2
import restate
import uvicorn

from counterfoil import App
from counterfoil.testing.bench_child import place
from tests.edges.adapters.recipes import recipe
from tests.edges.adapters.refunds import OPERATIONS, Refund, Say, app, told_of_waiting

__all__ = ["app", "play"]

made = recipe("@refunds.main()")
served = restate.app([made["refunds"]], protocol="request_response")


def play(app: App, arguments: dict[str, Any], say: Say) -> None:
    place(app, arguments, say)
    made["refund"] = OPERATIONS[arguments["operation"]]
    if arguments["how"] == "changed":  # the code was deployed anew meanwhile, and makes another payload
        made["Refund"] = lambda number, amount: Refund(number=number, amount=arguments["amount"])
    say(asyncio.run(_played(app, arguments)))
    app.close()


async def _played(app: App, arguments: dict[str, Any]) -> dict[str, Any]:
    waiting = told_of_waiting(app)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server = uvicorn.Server(uvicorn.Config(served, lifespan="off", log_level="critical"))
    parts: set[asyncio.Future[Any]] = set()
    with suppress(OSError):  # of two processes at one place the second only calls
        listening.bind(("127.0.0.1", arguments["port"]))
        listening.listen()
        parts.add(asyncio.ensure_future(server.serve(sockets=[listening])))
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
        result, waits = asyncio.ensure_future(_called(http, arguments)), asyncio.ensure_future(waiting())
        parts |= {result, waits}
        done, _ = await asyncio.wait({result, waits}, return_when=asyncio.FIRST_COMPLETED)
        said = result.result() if result in done else {"waits": waits.result()}
        server.should_exit = server.force_exit = True
        for part in parts - {result} if result in done else parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)
    return said


async def _called(http: httpx2.AsyncClient, arguments: dict[str, Any]) -> dict[str, Any]:
    ingress, key, how = arguments["ingress"], arguments["number"], arguments["how"]
    given = {"number": arguments["number"], "amount": 10}
    if how == "begin":
        place = {"uri": f"http://127.0.0.1:{arguments['port']}", "use_http_11": True, "force": True}
        (await http.post(f"{arguments['admin']}/deployments", json=place)).raise_for_status()
        (await http.post(f"{ingress}/refunds/{key}/run/send", json=given)).raise_for_status()
    elif how in ("resume", "changed"):
        (await http.post(f"{ingress}/refunds/{key}/wake/send", json=0)).raise_for_status()
    reply = await http.get(f"{ingress}/restate/workflow/refunds/{key}/attach")
    if reply.is_error and how == "resume":  # it ended with a refusal: another workflow, and the business key
        again = f"{key}-again"
        reply = await http.post(f"{ingress}/refunds/{again}/run", json=given)
    return {"refused": reply.text} if reply.is_error else {"receipt": {"reference": reply.json()}}
