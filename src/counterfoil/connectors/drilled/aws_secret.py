"""Secrets Manager against moto, where our key is the version's id, as it is at the API."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import aws_secret
from counterfoil.connectors.drilling import Case, Drill, as_usual, killed_after_acceptance, reply_lost, taken_over
from counterfoil.connectors.serving_aws import SERVER, Moto
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.receipt import Receipt

VALUE = "DRILLED_SECRET_VALUE"

app = App("drilled-secrets-manager")
app.receiver("secrets", url=Env("AWS_ENDPOINT_URL"), environment="test")
put = aws_secret.put(app, receiver="secrets", owner="platform-oncall")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform-oncall"))
async def rotate(run: Run, asked: aws_secret.SecretVersion) -> Receipt:
    """One version."""
    return await run.perform(put, asked)


class Secrets(Moto):
    """Each case has a secret of its own, which begins with no version."""

    def begin(self) -> None:
        """The value, where the drilled application reads it."""
        self.environ = self.environ | {VALUE: "seven"}

    def prepare(self, number: str) -> dict[str, Any]:
        """The secret."""
        self.disarm()
        made = self.at("secretsmanager").create_secret(Name=number)
        return {"number": number, "secret": made["ARN"], "value_from": VALUE}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The versions of its secret."""
        held = self.at("secretsmanager").list_secret_version_ids(SecretId=payload["secret"], IncludeDeprecated=True)
        return len(held["Versions"])


DRILLS = [
    Drill(
        connector="aws_secret.put",
        entries=[aws_secret.ENTRY],
        app=app,
        workflow=rotate,
        server=SERVER,
        server_kind="real",
        start=Secrets,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("taken-over", "succeeded", taken_over, attempts=2),
        ],
    )
]
