"""DynamoDB against moto, which keeps conditions as the API does and forgets its request tokens: so the condition is what is drilled."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import dynamodb
from counterfoil.connectors.drilling import Case, Drill, as_usual, killed_after_acceptance, reply_lost, taken_over
from counterfoil.connectors.serving_aws import SERVER, Moto
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.receipt import Receipt

app = App("drilled-dynamodb")
app.receiver("orders", url=Env("AWS_ENDPOINT_URL"), environment="test")
put = dynamodb.put(app, receiver="orders", owner="platform-oncall")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform-oncall"))
async def place(run: Run, asked: dynamodb.Item) -> Receipt:
    """One item."""
    return await run.perform(put, asked)


class Table(Moto):
    """A table whose stream tells every change: an item that was written twice shows there twice."""

    def prepare(self, number: str) -> dict[str, Any]:
        """The table."""
        self.disarm()
        made = self.at("dynamodb").create_table(
            TableName=number,
            KeySchema=[{"AttributeName": "order", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "order", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )["TableDescription"]
        self._stream = made["LatestStreamArn"]
        return {"number": number, "table": made["TableArn"], "key": {"order": number}, "values": {"pieces": 7}}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The changes of its table, as the stream tells them."""
        del payload
        streams = self.at("dynamodbstreams")
        (shard,) = streams.describe_stream(StreamArn=self._stream)["StreamDescription"]["Shards"]
        begin = streams.get_shard_iterator(
            StreamArn=self._stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        return len(streams.get_records(ShardIterator=begin)["Records"])


DRILLS = [
    Drill(
        connector="dynamodb.put",
        entries=[dynamodb.ENTRY],
        app=app,
        workflow=place,
        server=SERVER,
        server_kind="real",
        start=Table,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("taken-over", "succeeded", taken_over, attempts=2),
        ],
    )
]
