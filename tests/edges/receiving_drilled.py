"""A client with Counterfoil and a service made with `counterfoil.receiving`, drilled end to end."""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from counterfoil import App, Ask, Bearer, Budget, Call, Contract, Env, Found, Lookup, Receipt, Run, Seen, Workflow
from counterfoil.connectors.drilling import (
    ACCEPTED,
    TOO_LATE,
    Case,
    Drill,
    Play,
    as_usual,
    killed_after_acceptance,
    reply_lost,
    taken_over,
)
from counterfoil.connectors.serving import OverHttp
from counterfoil.receiving import contract_of
from counterfoil.testing.children import ChildFailed
from counterfoil.testing.proxy import ProxyProcess
from tests.edges.orders_service import PROMISE, OrdersService

WINDOW_US = PROMISE.window // timedelta(microseconds=1)


class Order(BaseModel):
    number: str


async def find_order(ask: Ask, order: Order) -> Seen[Receipt]:
    """By our key, at the service itself."""
    seen = (await ask.http.get(PROMISE.lookups, params={"key": ask.key})).json()
    placed = seen["state"] in ("answered", "over") and seen["status"] < 300
    return Seen([Found(Receipt(reference=seen["reference"]))] if placed else [], complete=True)


FOUND = Lookup(find_order, consistency="strong", visible_within=timedelta(0), finds_by="key")


def bought(name: str, contract: Contract) -> tuple[App, Workflow[Any, Any]]:
    """A client of the service under a contract."""
    app = App(name)
    app.receiver("orders", url=Env("ORDERS_URL"), credential=Bearer(Env("ORDERS_TOKEN")), environment="test")

    @app.operation(receiver="orders", contract=contract, business_key="number", owner="buyer")
    async def place_order(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/orders", json={"item": order.number})
        return Receipt(reference=str(reply.json()["id"]))

    @app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=90), spend_usd=1, owner="buyer"))
    async def buy(run: Run, order: Order) -> Receipt:
        return await run.perform(place_order, order)

    return app, buy


asking, buy_asking = bought("drilled-receiving", replace(contract_of(PROMISE), lookup=FOUND))
blind, buy_blind = bought("drilled-receiving-blind", replace(contract_of(PROMISE), lookup=None))


class Served(OverHttp):
    """The service behind our proxy."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "service.db"
        self.service = OrdersService(f"sqlite:///{self._file}", folder / "said")
        super().__init__(ProxyProcess(self.service.url))
        self.environ: Mapping[str, str] = {"ORDERS_URL": self.url, "ORDERS_TOKEN": "of-a-test"}

    def prepare(self, number: str) -> dict[str, Any]:
        """Nothing is needed there; a backup is made."""
        self.disarm()
        self.service.clear()
        self._copied(self._file, self._file.with_suffix(".backup"))
        return {"number": number}

    def restore(self) -> None:
        """The service's database is the backup again."""
        self._copied(self._file.with_suffix(".backup"), self._file)

    def records(self, payload: Mapping[str, Any]) -> int:
        """Rows in its database."""
        return self.service.placed(payload["number"])

    def close(self) -> None:
        super().close()
        self.service.close()

    @staticmethod
    def _copied(source: Path, target: Path) -> None:
        with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
            here.backup(there)


async def service_killed_at(play: Play, where: str) -> None:
    play.server.service.say("die", where)
    await play.drive()


async def killed_before_its_commit(play: Play) -> None:
    """The service dies with the change made and not committed."""
    await service_killed_at(play, "commit")


async def killed_before_its_answer(play: Play) -> None:
    """The service dies with the change committed and nothing answered."""
    await service_killed_at(play, "answer")


async def window_over(play: Play) -> None:
    """The service forgets its answers before anybody goes on: the repeat is told so, and the lookup still knows the order."""
    await play.drive(crash_at=ACCEPTED)
    play.server.service.say("offset", str(WINDOW_US + 1))
    assert play.server.service.client.post("/clean-up").json() >= 1
    play.advance(TOO_LATE)
    await play.drive()


async def window_over_and_lookup_behind(play: Play) -> None:
    """The same, and lookups do not show it yet: the doubt stands, and a later look closes it."""
    play.server.service.say("hidden")
    await window_over(play)
    play.doubt_stands()
    (play.server.service.folder / "hidden").unlink()
    await play.look_up()


async def lookup_behind(play: Play) -> None:
    """Absence that a replica tells proves nothing; the repeat under the key needs none."""
    play.server.service.say("hidden")
    await play.drive(crash_at=ACCEPTED)
    await play.drive()


async def restored(play: Play) -> None:
    """The service's database goes back to before the order: key and order are gone together, so the repeat places it there."""
    await play.drive(crash_at=ACCEPTED)
    play.server.restore()
    await play.drive()


async def refused_before_it_arrives(play: Play) -> None:
    """A person wants certainty: the key is refused by inserting it. What lands later does nothing, and the run learns of it."""
    play.server.queue()
    child = play.start()
    await asyncio.to_thread(play.server.wait_queued)
    child.kill()
    (operation,) = play.operations()
    service = play.server.service
    refused = service.client.put(PROMISE.lookups, params={"key": operation["idempotency_key"]}).json()
    assert (refused["state"], refused["holds"]) == ("refused", True)
    await asyncio.to_thread(play.server.release)
    await play.drive()
    (operation,) = play.operations()
    if (operation["status"], operation["case"]["letter"]) != ("failed", "H"):
        raise ChildFailed(f"refused for good, and the operation is {operation['status']}")


THERE: Mapping[str, Any] = {
    "entries": [],
    "server": "uvicorn, FastAPI, SQLAlchemy",
    "server_kind": "real",
    "start": Served,
}
DRILLS = [
    Drill(
        connector="receiving.asked",
        app=asking,
        workflow=buy_asking,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("service-killed-before-commit", "succeeded", killed_before_its_commit),
            Case("service-killed-before-answer", "succeeded", killed_before_its_answer),
            Case("lookup-behind", "succeeded", lookup_behind, attempts=2),
            Case("window-over", "succeeded", window_over, attempts=1),
            Case("window-over-and-lookup-behind", "succeeded", window_over_and_lookup_behind, attempts=2),
            Case("restored", "succeeded", restored, attempts=2),
            Case("arrives-late", "succeeded", taken_over, attempts=2),
        ],
        **THERE,
    ),
    Drill(
        connector="receiving.repeated",
        app=blind,
        workflow=buy_blind,
        cases=[
            Case("reply-lost", "succeeded", reply_lost, attempts=2),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=2),
            Case("service-killed-before-answer", "succeeded", killed_before_its_answer),
            Case("window-over", "unresolved", window_over, attempts=2),
            Case("restored", "succeeded", restored, attempts=2),
        ],
        **THERE,
    ),
]
REFUSED = replace(
    DRILLS[1], cases=[Case("refused-before-it-arrives", "unresolved", refused_before_it_arrives, attempts=2)]
)
