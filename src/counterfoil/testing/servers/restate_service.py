"""A service for a Restate server, in a process of its own: `orders/place` notes each invocation that it carries out.

`python -m counterfoil.testing.servers.restate_service FILE`: prints where it listens; each note is a line of the file.
"""

import asyncio
import socket
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

READY = "listening on "


def service(notes: Path) -> Any:
    """The application that Restate calls."""
    restate: Any = import_module("restate")
    orders = restate.Service("orders")

    async def place(context: Any, order: dict[str, Any]) -> dict[str, Any]:
        if order.get("refuse"):
            raise restate.TerminalError("no such article", status_code=422)

        def noted() -> str:
            with notes.open("a") as file:
                file.write(f"{order['number']}\n")
            return order["number"]

        return {"placed": await context.run_typed("noted", noted)}

    orders.handler()(place)
    return restate.app([orders], protocol="request_response")


async def serve(notes: Path) -> None:
    """Until the process is ended."""
    uvicorn: Any = import_module("uvicorn")
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"{READY}{listening.getsockname()[1]}", flush=True)  # noqa: T201 - the line that its starter waits for
    await uvicorn.Server(uvicorn.Config(service(notes), lifespan="off", log_level="error")).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
