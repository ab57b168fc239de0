"""AWS Secrets Manager: a new version of a secret, whose id is our key. The value itself is nowhere in the ledger.

app.receiver("secrets", url=Env("AWS_ENDPOINT_URL", "https://secretsmanager.eu-west-1.amazonaws.com"), environment="live")
put = aws_secret.put(app, receiver="secrets", owner="platform-oncall")
"""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors import aws
from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen, When
from counterfoil.model.errors import StepFailed
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt
from counterfoil.settings import environment

ENTRY = "aws_secretsmanager"
SECRET = r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:\S+"
REFUSED = (
    "ResourceNotFoundException",
    "InvalidParameterException",
    "InvalidRequestException",
    "LimitExceededException",
)


class SecretVersion(BaseModel):
    """`number`: yours. `secret`: the secret's ARN. `value_from`: the environment variable that holds the new value."""

    number: str
    secret: Annotated[str, Target(), Field(pattern=f"^{SECRET}$")]
    value_from: str


def put(
    app: Declares,
    *,
    receiver: str = "aws_secret",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[SecretVersion, Receipt]:
    """`PutSecretValue`. `overrides`: what your account knows better than the catalogue, by attribute."""
    return declared(app, put_secret_value, put_contract(overrides), receiver, **governed)


def put_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `put`. A version of our id with another value is a mismatch: the variable has changed meanwhile."""
    classifier = [
        When(status=400, body={"Error.Code": "ResourceExistsException"}).means("key_mismatch"),
        *(When(status={400, 404}, body={"Error.Code": code}).means("refused") for code in REFUSED),
        When(status="2xx").means("applied"),
    ]
    return contract_of(
        ENTRY, action="PutSecretValue", find=find_version, overrides={"classifier": classifier, **(overrides or {})}
    )


def put_secret_value(call: Call, version: SecretVersion) -> Receipt:
    """One request under our key. The value is read when it is sent."""
    value = environment().get(version.value_from)
    if value is None:
        raise StepFailed("value_missing", f"The environment has no variable {version.value_from}.")
    told = aws.sent(
        call,
        "secretsmanager",
        aws.region_of(version.secret),
        lambda client, key: client.put_secret_value(
            SecretId=version.secret, SecretString=value, ClientRequestToken=key
        ),
    )
    return Receipt(reference=told["VersionId"])


def find_version(ask: Ask, version: SecretVersion) -> Seen[Receipt]:
    """The version whose id is our key. Its value is not read."""
    after: dict[str, str] = {}
    while True:
        page = _versions(version, after)
        ours = [item for item in page["Versions"] if item["VersionId"] == ask.key]
        if ours or not page.get("NextToken"):
            return Seen([Found(Receipt(reference=item["VersionId"])) for item in ours], complete=True)
        after = {"NextToken": page["NextToken"]}


def _versions(version: SecretVersion, after: Mapping[str, str]) -> Any:
    return aws.read(
        "secretsmanager",
        aws.region_of(version.secret),
        lambda client: client.list_secret_version_ids(SecretId=version.secret, IncludeDeprecated=True, **after),
        absent="",
    )
