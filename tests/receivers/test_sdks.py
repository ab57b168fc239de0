"""The blocks of docs/sdks.md: each SDK sends once, and what it raises is classified as the answer that it carries."""

import asyncio
import json
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from counterfoil.app.application import App
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.connectors import aws
from counterfoil.connectors.drilled.github import Issues
from counterfoil.connectors.drilled.hubspot import Portal
from counterfoil.connectors.drilled.salesforce import Org
from counterfoil.connectors.drilled.slack import Workspace
from counterfoil.connectors.drilled.step_functions import StepFunctions
from counterfoil.connectors.drilled.stripe import Mock
from counterfoil.connectors.serving import PLANTED
from counterfoil.connectors.serving_aws import PLAIN
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.definitions import Operation, loaded, signature_of
from counterfoil.model.contract import Contract, Meaning, When
from counterfoil.model.errors import OperationFailed, Unresolved
from counterfoil.model.exchange import Exchange
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.receivers.http import AttemptOver
from counterfoil.testing.environ import environ_of
from tests.receivers.attempt import Attempt
from tests.unit.one_attempt import posted
from tests.unit.raw_server import Script, answer, says, serving

PAGE = Path(__file__).parents[2] / "docs" / "sdks.md"
TOKENS = {f"{name}_TOKEN": PLANTED for name in ("SALESFORCE", "HUBSPOT", "GITHUB", "SLACK")} | {"STRIPE_KEY": PLANTED}


@dataclass(frozen=True)
class Sdk:
    """`said`: an error as its service words it, with our code in it, and `path` where the contract finds that code.

    `refused`: an answer that the block's own contract calls refused. `retries`: what switches its retries off in the block, and
    how it looks left on, where it then sends this write again by itself.
    """

    serve: Callable[[Path], Any]
    payload: dict[str, Any]
    said: Callable[[str], Any]
    path: str
    refused: tuple[int, dict[str, Any]] | None = None
    retries: tuple[str, str] = ("", "")


SDKS = {
    "stripe": Sdk(
        Mock,
        {"number": "1", "charge": "ch_1", "amount": 5, "currency": "EUR"},
        lambda code: {"error": {"code": code, "type": "card_error", "message": "no"}},
        "error.code",
        (402, {"error": {"type": "card_error", "message": f"No such key: {PLANTED}"}}),
        ("max_network_retries=0", "max_network_retries=1"),
    ),
    "boto3": Sdk(
        StepFunctions,
        {"number": "1", "machine": "arn:aws:states:eu-west-1:123456789012:stateMachine:one"},
        lambda code: {"__type": code, "message": "no"},
        "Error.Code",
        (400, {"__type": "InvalidExecutionInput", "message": "no"}),
        ('retries={"total_max_attempts": 1}, ', ""),
    ),
    "simple-salesforce": Sdk(
        Org,
        {"number": "1", "object": "Case", "values": {"Subject": "one"}},
        lambda code: [{"errorCode": code, "message": "no"}],
        "0.errorCode",
        (400, {"errorCode": "REQUIRED_FIELD_MISSING", "message": PLANTED}),
    ),
    "hubspot-api-client": Sdk(
        Portal,
        {"number": "1", "properties": {"lastname": "one"}},
        lambda code: {"status": "error", "category": code, "message": "no"},
        "category",
        (400, {"status": "error", "category": "VALIDATION_ERROR", "message": PLANTED}),
    ),
    "PyGithub": Sdk(
        Issues,
        {"number": "1", "repository": "acme/shop", "issue": 1, "body": "one"},
        lambda code: {"message": "no", "errors": [{"code": code}]},
        "errors.0.code",
        retries=(" retry=None,", ""),
    ),
    "slack_sdk": Sdk(
        Workspace,
        {"number": "1", "channel": "C1", "text": "one"},
        lambda code: {"ok": False, "error": code},
        "error",
        retries=(", retry_handlers=[]", ""),
    ),
}
named = pytest.mark.parametrize("name", SDKS)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """The server of each SDK, started when it is first asked for."""
    servers: dict[str, Any] = {}

    def of(name: str) -> Any:
        if name not in servers:
            servers[name] = SDKS[name].serve(tmp_path_factory.mktemp("served"))
        return servers[name]

    yield of
    for server in servers.values():
        server.close()


@pytest.fixture(autouse=True)
def plain_salesforce(monkeypatch: pytest.MonkeyPatch) -> None:
    """simple-salesforce speaks TLS alone; the loopback does not."""
    request: Callable[..., Any] = requests.Session.request

    def plainly(session: requests.Session, method: str, url: str, **more: Any) -> Any:
        return request(session, method, url.replace("https://127.0.0.1", "http://127.0.0.1"), **more)

    monkeypatch.setattr(requests.Session, "request", plainly)


def block(name: str, old: str = "", new: str = "") -> tuple[App, Operation[Any, Any]]:
    """The application and the operation of that SDK's block, as printed or with one place changed."""
    (text,) = re.findall(rf"^## {name}\n.*?```python\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert text.count(old or "def send") == 1
    made: dict[str, Any] = {"__name__": "printed"}
    exec(compile(text.replace(old, new), f"{PAGE.name}: {name}", "exec"), made)
    return made["app"], made["send"]


# ---------------------------------------------------------------------- with the ledger, at a server


@dataclass(frozen=True)
class Story:
    """What the ledger says of one operation, and how many writes came to the server."""

    ended: str
    operation: OperationRecord
    attempts: Sequence[AttemptRecord]
    receipts: Sequence[ReceiptRecord]
    requests: int


def performed(name: str, server: Any, folder: Path, payload: Any, *changed: str) -> Story:
    app, operation = block(name, *changed)
    given = loaded(signature_of(operation.function, skip=1).inputs[0][1], payload, where="the payload")
    before = int(str(server.stand_in.get("")["requests"]))
    app.db = str(folder / "ledger.db")
    with environ_of({**server.environ, "COUNTERFOIL_STATE": str(folder / "state")}):
        app.open(Founding(people=(NewPerson(str(operation.owner), (), hashed("secret", "be7c")),)))
        try:
            ended = _ended(app, operation, given)
            with app.open().read() as reader:
                (record,) = reader.rows(OperationRecord)
                attempts = sorted(reader.rows(AttemptRecord), key=lambda attempt: attempt.n)
                receipts = list(reader.rows(ReceiptRecord))
        finally:
            app.close()
    return Story(ended, record, attempts, receipts, int(str(server.stand_in.get("")["requests"])) - before)


def _ended(app: App, operation: Operation[Any, Any], given: Any) -> str:
    try:
        asyncio.run(app.ledger.perform(operation, given, identity="one"))
    except (OperationFailed, Unresolved) as raised:
        return raised.code
    return "succeeded"


@named
def test_one_request_under_our_key_and_a_receipt(name: str, served: Callable[[str], Any], tmp_path: Path) -> None:
    server = served(name)
    payload = server.prepare("applied")
    story = performed(name, server, tmp_path, payload)
    (attempt,), (receipt,) = story.attempts, story.receipts
    assert (story.ended, story.requests, server.records(payload)) == ("succeeded", 1, 1)
    assert (attempt.answer_class, receipt.how) == ("applied", "reply")
    # A receiver without keys has our id in the record: the lookup of the next test finds it by that.
    assert attempt.idempotency_key is None or attempt.idempotency_key in json.dumps(server.stand_in.requests()[-1])


@named
def test_a_lost_reply_is_one_request_and_a_doubt_that_the_contract_closes(
    name: str, served: Callable[[str], Any], tmp_path: Path
) -> None:
    server = served(name)
    payload = server.prepare("lost")
    server.arm("drop-reply")
    story = performed(name, server, tmp_path, payload)
    (attempt,), (receipt,) = story.attempts, story.receipts
    assert (attempt.answer_status, attempt.answer_class, attempt.closed) == (None, "ambiguous", 0)
    assert (story.ended, story.requests, server.records(payload), receipt.how) == ("succeeded", 1, 1, "lookup")


@named
def test_an_error_after_acceptance_is_no_failure(name: str, served: Callable[[str], Any], tmp_path: Path) -> None:
    server = served(name)
    payload = server.prepare("error")
    server.arm("error-after-accept")
    story = performed(name, server, tmp_path, payload)
    (attempt,), (receipt,) = story.attempts, story.receipts
    told = None if name == "boto3" else 500  # an error without a name of the service's own is not told
    assert (attempt.answer_status, attempt.answer_class, attempt.closed) == (told, "ambiguous", 0)
    assert (story.ended, story.requests, server.records(payload), receipt.how) == ("succeeded", 1, 1, "lookup")


@pytest.mark.parametrize("name", [name for name, sdk in SDKS.items() if sdk.refused])
def test_what_the_contract_calls_refused_fails_and_the_credential_is_kept_nowhere(
    name: str, served: Callable[[str], Any], tmp_path: Path
) -> None:
    server = served(name)
    payload = server.prepare("refused")
    status, body = SDKS[name].refused or (0, {})
    server.stand_in.fault("refuse", status=status, body=body)
    story = performed(name, server, tmp_path, payload)
    (attempt,) = story.attempts
    assert (attempt.answer_status, attempt.answer_class, attempt.closed) == (status, "refused", 1)
    assert (story.ended, story.operation.status, story.requests) == ("operation_failed", "failed", 1)
    assert server.records(payload) == 0
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files and not [file for file in files if PLANTED.encode() in file.read_bytes()]


@pytest.mark.parametrize("name", [name for name, sdk in SDKS.items() if sdk.retries[0]])
def test_an_sdk_that_is_left_its_own_retries_sends_more_than_is_on_record(
    name: str, served: Callable[[str], Any], tmp_path: Path
) -> None:
    server = served(name)
    payload = server.prepare("again")
    server.arm("drop-reply")
    story = performed(name, server, tmp_path, payload, *SDKS[name].retries)
    assert story.requests > len(story.attempts) == 1


# ---------------------------------------------------------------------- without it: what one answer means


def sent(name: str, script: Script) -> tuple[Meaning, Exchange | None, int]:
    """One attempt through the SDK at a server that answers so: what it means, what was seen, and how many requests came."""
    operation = block(name)[1]
    payload = loaded(signature_of(operation.function, skip=1).inputs[0][1], SDKS[name].payload, where="the payload")
    with serving(script) as server, environ_of({**PLAIN, **TOKENS}):
        try:
            operation.function(Attempt(contract(name), url=server.url), payload)  # type: ignore[arg-type]
        except AttemptOver as over:
            assert over.meaning is not None
            return over.meaning, over.exchange, len(server.requests)
        return Meaning.APPLIED, None, len(server.requests)


def contract(name: str) -> Contract:
    """One that reads the status, and the code in the body."""
    ours = {SDKS[name].path: "OURS"}
    return Contract(
        api_version="1",
        procedure="Ask the desk.",
        classifier=[
            When(status=409, body=ours).means("in_progress"),
            When(status=403).means("refused"),
            When(status=400, body=ours).means("refused"),
            When(status="2xx").means("applied"),
        ],
    )


def error(name: str, status: int, code: str) -> Script:
    return answer(status, json.dumps(SDKS[name].said(code)).encode(), "Content-Type: application/json")


ANSWERS = [
    (400, "OURS", Meaning.REFUSED),
    (400, "OTHER", Meaning.AMBIGUOUS),
    (403, "OTHER", Meaning.REFUSED),
    (409, "OURS", Meaning.IN_PROGRESS),
    (429, "OTHER", Meaning.AMBIGUOUS),
    (500, "OURS", Meaning.AMBIGUOUS),
]


@pytest.mark.parametrize(("status", "code", "meaning"), ANSWERS)
@named
def test_an_exception_means_what_its_answer_means_to_our_own_layer(
    name: str, status: int, code: str, meaning: Meaning
) -> None:
    script = error(name, status, code)
    found, exchange, count = sent(name, script)
    assert exchange is not None
    assert (found, exchange.status, count) == (meaning, status, 1)
    if name != "boto3":  # which shows the parsed error, and not the body
        with serving(script) as server:
            end, seen = posted(server.url, contract=contract(name))
        assert isinstance(end, AttemptOver) and (end.meaning, seen.json()) == (found, exchange.json())


def drop(conversation: socket.socket, request: bytes) -> None:
    """Close without a word."""


CUT = says(b"HTTP/1.1 403 X\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n", b'{"error":')


@pytest.mark.parametrize("script", [drop, CUT], ids=["dropped", "cut"])
@named
def test_no_answer_or_half_of_one_is_a_doubt_and_one_request(name: str, script: Script) -> None:
    found, exchange, count = sent(name, script)
    assert exchange is not None
    assert (found, exchange.status, exchange.sent, count) == (Meaning.AMBIGUOUS, None, True, 1)


def elsewhere(conversation: socket.socket, request: bytes) -> None:
    """A write is sent on; who follows finds something that looks like a success."""
    there = answer(200, b'{"id":1,"ok":true,"ts":"1"}', "Content-Type: application/json")
    sent_on = answer(302, b"{}", "Content-Type: application/json", "Location: /elsewhere")
    (there if b" /elsewhere " in request.partition(b"\r\n")[0] else sent_on)(conversation, request)


@pytest.mark.parametrize("name", [name for name in SDKS if name != "slack_sdk"])
def test_a_redirect_is_not_followed(name: str) -> None:
    found, _, count = sent(name, elsewhere)
    assert (found, count) == (Meaning.AMBIGUOUS, 1)


def test_a_yes_that_the_sdk_cannot_read_is_no_success() -> None:
    found, exchange, _ = sent("stripe", says(b'HTTP/1.1 200 X\r\nConnection: close\r\n\r\n{"id": "re_'))
    assert exchange is not None
    assert (found, exchange.status, exchange.problem) == (Meaning.AMBIGUOUS, 200, "unreadable: APIError")


@pytest.mark.parametrize("status", [200, 400])
def test_a_reply_of_aws_that_is_cut_is_no_answer(status: int) -> None:
    """botocore takes a cut body for the whole one, and an empty success with it."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 500\r\n\r\n"
    machine = SDKS["boto3"].payload["machine"]

    def cut() -> None:
        attempt: Any = Attempt(contract("boto3"))
        aws.sent(attempt, "stepfunctions", None, lambda c, key: c.start_execution(stateMachineArn=machine, name=key))

    with (
        serving(says(head.encode(), b'{"executionArn": "arn:')) as server,
        environ_of({**PLAIN, "AWS_ENDPOINT_URL": server.url}),
        pytest.raises(AttemptOver) as over,
    ):
        cut()
    assert over.value.meaning is Meaning.AMBIGUOUS and over.value.exchange is not None
    assert (over.value.exchange.status, len(server.requests)) == (None, 1)
    assert str(over.value.exchange.problem).startswith("CutReply: ")
