"""Amazon S3, and what speaks as it does: an object is created where none is, and never replaced.

app.receiver("archive", url=Env("AWS_ENDPOINT_URL", "https://s3.eu-west-1.amazonaws.com"), environment="live")
create = s3.create(app, receiver="archive", owner="platform-oncall")
"""

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Unpack

from pydantic import BaseModel

from counterfoil.connectors import aws
from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen, When
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "http_create_if_none_match"
MARK = "counterfoil-operation"  # the object's metadata that holds our operation's id


class Object(BaseModel):
    """`number`: yours. `path`: the object's key in the bucket. `content`: text, or base64 where `encoding` says so.

    `region`: the bucket's; boto3's own, if none is named.
    """

    number: str
    bucket: Annotated[str, Target()]
    path: str
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    content_type: str = "application/octet-stream"
    region: str | None = None


class ObjectReceipt(Receipt):
    """`reference`: BUCKET/PATH. `etag`: S3's own digest of what it holds."""

    etag: str | None = None


def create(
    app: Declares,
    *,
    receiver: str = "s3",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Object, ObjectReceipt]:
    """`PutObject` with `If-None-Match: *`. `overrides`: what your account knows better than the catalogue, by attribute."""
    return declared(app, create_object, create_contract(overrides), receiver, **governed)


def create_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `create`. A 412 says that this try wrote nothing, and that some object is there: whose, is looked up."""
    classifier = [
        When(status=412).means("refused"),
        When(status=404, body={"Error.Code": "NoSuchBucket"}).means("refused"),
        When(status="2xx").means("applied"),
    ]
    return contract_of(
        ENTRY, action="S3 PutObject", find=find_object, overrides={"classifier": classifier, **(overrides or {})}
    )


def create_object(call: Call, object: Object) -> ObjectReceipt:
    """One request on the condition that nothing is there. Our operation's id stands in the object's metadata."""
    told = aws.sent(
        call,
        "s3",
        object.region,
        lambda client, _: client.put_object(
            Bucket=object.bucket,
            Key=object.path,
            Body=_bytes(object),
            ContentType=object.content_type,
            Metadata={MARK: call.operation_id},
            IfNoneMatch="*",
        ),
    )
    return ObjectReceipt(reference=f"{object.bucket}/{object.path}", etag=told.get("ETag"))


def find_object(ask: Ask, object: Object) -> Seen[ObjectReceipt]:
    """What lies at the path. Only what carries our operation's id is compared by content: the rest is somebody else's."""
    held = aws.read(
        "s3", object.region, lambda c: _held(c.get_object(Bucket=object.bucket, Key=object.path)), absent="NoSuchKey"
    )
    if held is None:
        return Seen([], complete=True)
    receipt = ObjectReceipt(reference=f"{object.bucket}/{object.path}", etag=held["ETag"])
    ours = held["Metadata"].get(MARK) == ask.operation_id
    return Seen([Found(receipt, payload=_as_held(object, held) if ours else None)], complete=True)


def _held(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {**answer, "Body": answer["Body"].read()}


def _as_held(object: Object, held: Mapping[str, Any]) -> Object:
    body: bytes = held["Body"]
    content = object.content if body == _bytes(object) else base64.b64encode(body).decode()
    return object.model_copy(update={"content": content, "content_type": held["ContentType"]})


def _bytes(object: Object) -> bytes:
    return base64.b64decode(object.content, validate=True) if object.encoding == "base64" else object.content.encode()
