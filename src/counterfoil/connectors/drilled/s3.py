"""S3 against moto, in a bucket that keeps every version: a write that replaced another one would be counted."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import s3
from counterfoil.connectors.drilling import Case, Drill, as_usual, killed_after_acceptance, reply_lost, taken_over
from counterfoil.connectors.serving_aws import SERVER, Moto
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.testing.servers.moto import REGION

BUCKET = "drilled"

app = App("drilled-s3")
app.receiver("archive", url=Env("AWS_ENDPOINT_URL"), environment="test")
create = s3.create(app, receiver="archive", owner="platform-oncall")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform-oncall"))
async def archive(run: Run, asked: s3.Object) -> s3.ObjectReceipt:
    """One object."""
    return await run.perform(create, asked)


class Bucket(Moto):
    """Each case has a path of its own."""

    def begin(self) -> None:
        """The bucket."""
        client = self.at("s3")
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})

    def prepare(self, number: str) -> dict[str, Any]:
        """The path."""
        self.disarm()
        return {"number": number, "bucket": BUCKET, "path": f"cases/{number}.txt", "content": "seven", "region": REGION}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The versions that its path has, or had."""
        held = self.at("s3").list_object_versions(Bucket=BUCKET, Prefix=payload["path"])
        return len(held.get("Versions", []))


DRILLS = [
    Drill(
        connector="s3.create",
        entries=[s3.ENTRY],
        app=app,
        workflow=archive,
        server=SERVER,
        server_kind="real",
        start=Bucket,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("taken-over", "succeeded", taken_over, attempts=2),
        ],
    )
]
