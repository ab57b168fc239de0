"""A service of somebody's own, made with `counterfoil.receiving`: `python -m tests.edges.orders_service URL FOLDER`.

FOLDER holds what a test says: `die` (`change`, `commit` or `answer`: where the next write is killed), `offset` (microseconds that
its clock is ahead), `hidden` (lookups come from a replica that has seen nothing yet). A process that is killed is replaced by
another one at the same socket, as a service manager does. It ends with its standard input.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import httpx2
import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from pydantic import BaseModel
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, event, func, insert, select
from sqlalchemy.orm import Session

from counterfoil.receiving import Answer, Promise, Receiving
from counterfoil.receiving.web import InTestMode, Once, keyed, lookups

ROOT = Path(__file__).resolve().parents[2]
PROMISE = Promise(action="POST /orders", api_version="1", window=timedelta(days=7))
EPOCH = 1_800_000_000_000_000
orders = Table("orders", MetaData(), Column("id", Integer, primary_key=True), Column("item", String(80)))


class Order(BaseModel):
    item: str


class Told:
    """What a test has said."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def hidden(self) -> bool:
        return (self._folder / "hidden").exists()

    def clock(self) -> int:
        said = self._folder / "offset"
        return EPOCH + int(said.read_text() if said.exists() else 0)

    def die(self, where: str) -> None:
        said = self._folder / "die"
        if said.exists() and said.read_text() == where:
            said.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


def tenant(authorization: Annotated[str, Header()] = "") -> str:
    if not authorization.startswith("Bearer "):
        raise HTTPException(401)
    return authorization


def made(url: str, folder: Path) -> FastAPI:
    """The service, in one process."""
    engine, told = create_engine(url), Told(folder)
    orders.metadata.create_all(engine)
    receiving = Receiving(engine, PROMISE, clock=told.clock)
    receiving.prepare()
    event.listen(engine, "commit", lambda _: told.die("commit"))
    app = FastAPI()

    @app.middleware("http")
    async def replica(request: Request, answer: Any) -> Response:
        if request.url.path == PROMISE.lookups and told.hidden:
            return Response('{"state":"absent","holds":false}', media_type="application/json")
        return await answer(request)

    app.include_router(lookups(receiving, tenant))
    app.add_middleware(InTestMode)

    @app.post("/orders")
    def place(order: Order, once: Annotated[Once, Depends(keyed(receiving, tenant))]) -> Response:
        def act(session: Session) -> Answer:
            if order.item == "nothing":
                raise HTTPException(409, "sold out")
            number = session.execute(insert(orders).values(item=order.item).returning(orders.c.id)).scalar_one()
            told.die("change")
            return Answer.json(201, {"id": number, "item": order.item}, reference=str(number))

        answer = once(act)
        told.die("answer")
        return answer

    app.post("/clean-up")(receiving.clean_up)
    return app


def count(url: str, item: str) -> int:
    """How many orders of this item are in the database."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(select(func.count()).where(orders.c.item == item)).scalar_one()
    engine.dispose()
    return found


class OrdersService:
    """The service as a child. `client` speaks to it under one credential."""

    def __init__(self, database: str, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.database, self.folder = database, folder
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.edges.orders_service", database, str(folder)],
                cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self._process.stdout is not None
        port = self._process.stdout.readline().strip()
        assert port, (folder / "log").read_text()
        self.port = int(port)
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx2.Client(base_url=self.url, headers={"Authorization": "Bearer of-a-test"}, timeout=60)

    def say(self, name: str, text: str = "") -> None:
        (self.folder / name).write_text(text)

    def clear(self) -> None:
        for name in ("die", "offset", "hidden"):
            (self.folder / name).unlink(missing_ok=True)

    def place(self, key: str, item: str) -> httpx2.Response:
        return self.client.post("/orders", json={"item": item}, headers={"Idempotency-Key": key})

    def look(self, key: str) -> dict[str, Any]:
        return self.client.get(PROMISE.lookups, params={"key": key}).json()

    def placed(self, item: str) -> int:
        return count(self.database, item)

    def close(self) -> None:
        self.client.close()
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def serve(url: str, folder: Path, listening: socket.socket) -> None:
    """One process, until it is killed or nobody holds the other end of standard input."""
    end_with_input()
    config = uvicorn.Config(made(url, folder), log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])


def end_with_input() -> None:
    def wait() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    # Whoever connects while nobody serves waits in the socket's queue.
    while True:
        child = os.fork()
        if child == 0:
            serve(sys.argv[1], Path(sys.argv[2]), listening)
            return
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
