"""A database with orders, and acts that place one: what the tests of `counterfoil.receiving` share."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, func, insert, select
from sqlalchemy.orm import Session

from counterfoil.receiving import Answer, Asked, Promise, Receiving
from counterfoil.receiving.answer import MARK

PROMISE = Promise(action="POST /orders", api_version="1", window=timedelta(days=7))
DAY = 86_400_000_000
orders = Table("orders", MetaData(), Column("id", Integer, primary_key=True), Column("item", String(50), unique=True))


class Clock:
    """Microseconds that only a test moves."""

    def __init__(self) -> None:
        self.now = 20_000 * DAY

    def __call__(self) -> int:
        return self.now


class Service:
    """A database with orders, and acts that place one."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.clock = engine, Clock()
        orders.metadata.create_all(engine)
        self.keeps(PROMISE)

    def keeps(self, promise: Promise, **more: Any) -> Receiving:
        self.kit = Receiving(self.engine, promise, **{"clock": self.clock, **more})
        self.kit.prepare()
        return self.kit

    def place(self, key: str = "k-1", **changed: Any) -> Answer:
        act = changed.pop("act", placing)
        return self.kit.once(replace(asked(key), **changed), act)

    @property
    def placed(self) -> int:
        with self.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(orders)).scalar_one()


def asked(key: str = "k-1", item: str = "tea") -> Asked:
    body = f'{{"item": "{item}", "count": 2}}'.encode()
    return Asked(method="POST", path="/orders", query="", body=body, keys=[key], scope="acme")


def placing(session: Session) -> Answer:
    made = session.execute(insert(orders).returning(orders.c.id)).scalar_one()
    return Answer.json(201, {"id": made}, reference=str(made), headers={"Location": f"/orders/{made}"})


def mark(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.headers[MARK]
