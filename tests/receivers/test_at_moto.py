"""What moto answers to a repeat, to other content and to what is not there, and what our contracts make of it."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.application import App
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.connectors import aws_secret, dynamodb, s3, sqs, step_functions
from counterfoil.connectors.drilled.aws_secret import VALUE, Secrets
from counterfoil.connectors.drilled.dynamodb import Table
from counterfoil.connectors.drilled.s3 import BUCKET, Bucket
from counterfoil.connectors.drilled.sqs import Queue
from counterfoil.connectors.drilled.step_functions import StepFunctions
from counterfoil.connectors.serving_aws import Moto
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.definitions import Env, Operation
from counterfoil.model.contract import Meaning
from counterfoil.model.errors import OperationFailed
from counterfoil.testing.environ import environ_of
from tests.receivers.attempt import OTHER, Attempt


def served(kind: type[Moto], folder: Path) -> Iterator[Moto]:
    server = kind(folder)
    try:
        with environ_of(server.environ):
            yield server
    finally:
        server.close()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    yield from served(StepFunctions, tmp_path_factory.mktemp("moto"))


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    yield from served(Bucket, tmp_path_factory.mktemp("moto"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    yield from served(Table, tmp_path_factory.mktemp("moto"))


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    yield from served(Queue, tmp_path_factory.mktemp("moto"))


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    yield from served(Secrets, tmp_path_factory.mktemp("moto"))


def alone(folder: Path, declare: Callable[..., Operation[Any, Any]], payload: Any) -> Any:
    """The operation from a ledger of its own."""
    app = App("alone", db=str(folder / "ledger.db"))
    app.receiver("aws", url=Env("AWS_ENDPOINT_URL"), environment="test")
    operation = declare(app, receiver="aws", owner="oncall")
    with environ_of({"COUNTERFOIL_STATE": str(folder / "state")}):
        app.open(Founding(people=(NewPerson("oncall", (), hashed("secret", "be7c")),)))
        try:
            return asyncio.run(app.ledger.perform(operation, payload, identity="one"))
        finally:
            app.close()


def test_a_name_says_what_it_was_begun_with(machines: StepFunctions) -> None:
    asked = step_functions.Execution(**machines.prepare("names"))
    other = asked.model_copy(update={"input": {"order": 8}})
    contract = step_functions.start_contract()
    assert Attempt(contract).made(step_functions.start_execution, asked) is Meaning.APPLIED
    assert Attempt(contract).made(step_functions.start_execution, asked) is Meaning.APPLIED  # while it runs
    assert Attempt(contract).made(step_functions.start_execution, other) is Meaning.AMBIGUOUS
    machines.finish()
    assert Attempt(contract).made(step_functions.start_execution, asked) is Meaning.AMBIGUOUS  # and once it is closed
    assert machines.records({"machine": asked.machine}) == 1
    (found,) = step_functions.find_execution(Attempt(contract).ask(), other).records
    assert found.payload == asked and found.receipt.reference.endswith(f":{Attempt(contract).key}")
    assert not step_functions.find_execution(Attempt(contract, OTHER).ask(), asked).records


def test_a_machine_that_keeps_no_names_is_refused_before_anything_leaves(
    machines: StepFunctions, tmp_path: Path
) -> None:
    asked = machines.prepare("express")
    made = machines.at("stepfunctions").create_state_machine(
        name="express-kind", definition=json.dumps({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}),
        roleArn="arn:aws:iam::123456789012:role/drilled", type="EXPRESS",
    )  # fmt: skip
    for machine, code in ((made["stateMachineArn"], "not_standard"), (f"{asked['machine']}-none", "no_such_machine")):
        folder = tmp_path / code
        folder.mkdir()
        with pytest.raises(OperationFailed, match=code):
            alone(folder, step_functions.start, step_functions.Execution(**{**asked, "machine": machine}))
    assert machines.records(asked) == 0


def test_an_object_of_somebody_else_is_left_as_it_is(bucket: Bucket, tmp_path: Path) -> None:
    asked = s3.Object(**bucket.prepare("foreign"))
    bucket.at("s3").put_object(Bucket=BUCKET, Key=asked.path, Body=b"theirs")
    with pytest.raises(OperationFailed):
        alone(tmp_path, s3.create, asked)
    assert bucket.records(asked.model_dump()) == 1
    (found,) = s3.find_object(Attempt(s3.create_contract()).ask(), asked).records
    assert found.payload is None, "it shows that something is there, and nothing of ours"


def test_an_object_is_ours_by_its_mark_and_its_content(bucket: Bucket) -> None:
    asked = s3.Object(**{**bucket.prepare("ours"), "content": "AAH/", "encoding": "base64"})
    contract = s3.create_contract()
    assert not s3.find_object(Attempt(contract).ask(), asked).records
    assert Attempt(contract).made(s3.create_object, asked) is Meaning.APPLIED
    assert Attempt(contract).made(s3.create_object, asked) is Meaning.REFUSED
    (found,) = s3.find_object(Attempt(contract).ask(), asked).records
    assert found.payload == asked
    (found,) = s3.find_object(Attempt(contract).ask(), asked.model_copy(update={"content": "AAI="})).records
    assert found.payload is not None and found.payload != asked.model_copy(update={"content": "AAI="})
    nowhere = asked.model_copy(update={"bucket": "nobody-has-it"})
    assert Attempt(contract).made(s3.create_object, nowhere) is Meaning.REFUSED


def test_an_item_is_put_once_though_the_server_forgets_tokens(tables: Table, tmp_path: Path) -> None:
    asked = dynamodb.Item(**tables.prepare("items"))
    contract = dynamodb.put_contract()
    assert Attempt(contract).made(dynamodb.put_item, asked) is Meaning.APPLIED
    assert (
        Attempt(contract).made(dynamodb.put_item, asked) is Meaning.REFUSED
    )  # moto: the condition; the API: applied, nothing done
    assert tables.records({}) == 1
    (found,) = dynamodb.find_item(Attempt(contract).ask(), asked).records
    assert found.payload == asked
    assert not dynamodb.find_item(Attempt(contract, OTHER).ask(), asked).records
    with pytest.raises(OperationFailed):
        alone(tmp_path, dynamodb.put, asked.model_copy(update={"values": {"pieces": 8}}))
    assert tables.records({}) == 1


def test_every_kind_of_value_is_found_as_it_was_put(tables: Table) -> None:
    values = {"text": "7", "number": -7, "yes": True, "nothing": None}
    asked = dynamodb.Item(**{**tables.prepare("values"), "values": values})
    contract = dynamodb.put_contract()
    assert Attempt(contract).made(dynamodb.put_item, asked) is Meaning.APPLIED
    (found,) = dynamodb.find_item(Attempt(contract).ask(), asked).records
    assert found.payload == asked


def test_a_repeated_message_is_acknowledged_and_dropped_whatever_it_says(queues: Queue) -> None:
    asked = sqs.Message(**queues.prepare("messages"))
    contract = sqs.send_contract()
    for message in (asked, asked, asked.model_copy(update={"body": "eight"})):
        assert Attempt(contract).made(sqs.send_message, message) is Meaning.APPLIED
    assert queues.records(asked.model_dump()) == 1


def test_moto_forgets_a_message_that_was_received_which_the_service_does_not(queues: Queue) -> None:
    """Why the drill leaves messages in their queue: the catalogue's fact, five minutes, is the service's and stays."""
    asked = sqs.Message(**queues.prepare("received"))
    contract = sqs.send_contract()
    Attempt(contract).made(sqs.send_message, asked)
    client = queues.at("sqs")
    (held,) = client.receive_message(QueueUrl=asked.queue)["Messages"]
    client.delete_message(QueueUrl=asked.queue, ReceiptHandle=held["ReceiptHandle"])
    Attempt(contract).made(sqs.send_message, asked)
    assert queues.records(asked.model_dump()) == 1


def test_a_version_is_its_key_and_its_value_stays_outside(
    secrets: Secrets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = "planted-5b1e-value"
    monkeypatch.setenv(VALUE, planted)
    asked = aws_secret.SecretVersion(**secrets.prepare("versions"))
    contract = aws_secret.put_contract()
    assert Attempt(contract).made(aws_secret.put_secret_value, asked) is Meaning.APPLIED
    assert Attempt(contract).made(aws_secret.put_secret_value, asked) is Meaning.APPLIED
    assert secrets.records(asked.model_dump()) == 1
    (found,) = aws_secret.find_version(Attempt(contract).ask(), asked).records
    assert found.receipt.reference == Attempt(contract).key
    assert not aws_secret.find_version(Attempt(contract, OTHER).ask(), asked).records
    alone(tmp_path, aws_secret.put, asked)
    assert secrets.records(asked.model_dump()) == 2
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files and not [file for file in files if planted.encode() in file.read_bytes()]
    monkeypatch.setenv(VALUE, "another")
    assert Attempt(contract).made(aws_secret.put_secret_value, asked) is Meaning.KEY_MISMATCH
