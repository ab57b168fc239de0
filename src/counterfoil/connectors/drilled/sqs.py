"""SQS against moto, whose FIFO queues drop a repeat while the message lies in the queue."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import sqs
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    as_usual,
    key_over,
    killed_after_acceptance,
    reply_lost,
    taken_over,
)
from counterfoil.connectors.serving_aws import SERVER, Moto
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.testing.servers.moto import REGION

app = App("drilled-sqs")
app.receiver("orders", url=Env("AWS_ENDPOINT_URL"), environment="test")
send = sqs.send(app, receiver="orders", owner="platform-oncall")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform-oncall"))
async def tell(run: Run, asked: sqs.Message) -> sqs.MessageReceipt:
    """One message."""
    return await run.perform(send, asked)


class Queue(Moto):
    """Each case has a queue of its own."""

    def prepare(self, number: str) -> dict[str, Any]:
        """The queue."""
        self.disarm()
        made = self.at("sqs").create_queue(
            QueueName=f"{number.replace('.', '-')}.fifo", Attributes={"FifoQueue": "true"}
        )
        return {"number": number, "queue": made["QueueUrl"], "group": "orders", "body": "seven", "region": REGION}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The messages that its queue holds."""
        wanted = "ApproximateNumberOfMessages"
        held = self.at("sqs").get_queue_attributes(QueueUrl=payload["queue"], AttributeNames=[wanted])
        return int(held["Attributes"][wanted])


DRILLS = [
    Drill(
        connector="sqs.send",
        entries=[sqs.ENTRY],
        app=app,
        workflow=tell,
        server=SERVER,
        server_kind="real",
        start=Queue,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=2),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=2),
            Case("taken-over", "succeeded", taken_over, attempts=2),
            Case("key-over", "unresolved", key_over, attempts=1),
        ],
    )
]
