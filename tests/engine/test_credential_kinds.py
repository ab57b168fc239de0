"""Every kind of credential is a reference; its fingerprint stands with the attempt, and who cannot read it holds the operation."""

import asyncio
import hmac
import threading
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import App
from counterfoil.app.webhooks.declared import without_secret
from counterfoil.connectors import nats, s3
from counterfoil.engine.credential import ApiKey, Basic, Named
from counterfoil.engine.definitions import Bearer, Env, Keyring, SecretFile, SignedBy
from counterfoil.engine.endpoint import endpoint_of
from counterfoil.model.errors import Refused
from counterfoil.testing.environ import environ_of
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import House, Order
from tests.engine.writes import create_case, writing

NOWHERE = {
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.mark.parametrize(
    ("credential", "headers"),
    [
        (Bearer(Env("A")), {"Authorization": "Bearer one"}),
        (ApiKey("X-Api-Key", Env("A")), {"X-Api-Key": "one"}),
        (Basic("robot", Env("A")), {"Authorization": "Basic cm9ib3Q6b25l"}),
        (Named(access_key_id=Env("A"), secret_access_key=Env("B")), {}),
    ],
)
def test_each_kind_has_a_fingerprint(credential: Any, headers: dict[str, str]) -> None:
    app = App("x")
    app.receiver("crm", url="http://127.0.0.1:9", credential=credential, environment="test")
    operation = create_case(app)
    scopes = list[str]()
    for value in ("one", "another", "one"):
        endpoint = endpoint_of(app.registry, operation, {"A": value, "B": "b"})
        scopes += [endpoint.approval_scope + endpoint.scope]
        if value == "one":
            assert endpoint.headers == headers and "one" in endpoint.values.values()
    assert scopes[0] == scopes[2] != scopes[1]


def test_whom_boto3_finds_is_seen() -> None:
    app = App("x")
    app.receiver("archive", url="http://127.0.0.1:9", environment="test")
    operation: Any = s3.create(app, receiver="archive", owner="lead")
    scopes = list[str]()
    for key in ("AKIAONE", "AKIATWO", "AKIAONE"):
        with environ_of(NOWHERE | {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "planted-secret"}):
            endpoint = endpoint_of(app.registry, operation, {})
        assert endpoint.values == {"access_key_id": key, "secret_access_key": "planted-secret"}
        assert "planted-secret" in endpoint.secrets
        scopes.append(endpoint.approval_scope)
    assert scopes[0] == scopes[2] != scopes[1]


def test_whom_the_environment_names_for_nats_is_seen(tmp_path: Path) -> None:
    app = App("x")
    app.receiver("orders", url="nats://127.0.0.1:9", environment="test")
    operation: Any = nats.publish(app, receiver="orders", duplicate_window=nats.TIMEOUT, owner="lead")
    file = tmp_path / "creds"
    scopes = list[str]()
    for content in ("of one account", "of another", "of one account"):
        file.write_text(content)
        endpoint = endpoint_of(app.registry, operation, {nats.CREDENTIALS: str(file)})
        assert endpoint.values == {"creds": content}
        scopes.append(endpoint.approval_scope)
    assert scopes[0] == scopes[2] != scopes[1]
    assert endpoint_of(app.registry, operation, {nats.TOKEN: "t"}).values == {"token": "t"}


def flow_of(house: House, url: str, credential: Any) -> Any:
    house.app.registry.receivers.pop("crm", None)
    house.app.receiver("crm", url=url, credential=credential, environment="test")
    return writing(house.app, create_case(house.app, "key"))


def test_an_account_that_is_exchanged_between_two_attempts_ends_the_repeats(
    house: House, crm: SandboxProcess, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("of account A")
    house.found()
    flow = flow_of(house, crm.url, ApiKey("X-Api-Key", SecretFile(str(key))))
    crm.fault("drop-reply")

    async def story() -> None:
        async with house.working():
            run_id = (await house.app.submit(flow, Order(number="1"), request_id="1")).run_id
            await house.until(run_id, lambda run: run.failed_tries > 0)
            key.write_text("of account B")
            house.clock.advance(60)
            await house.until(run_id, lambda run: run.state.value in ("parked", "completed"))
        (operation,) = house.operations(run_id)
        assert operation.attempts == 1 and operation.status.value == "unknown", (
            "what B does under A's key is another effect"
        )

    asyncio.run(story())
    assert len(crm.records()) == 1


def test_who_cannot_read_the_credential_holds_the_operation_visibly(
    house: House, crm: SandboxProcess, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("of account A")
    house.found()
    flow = flow_of(house, crm.url, Bearer(SecretFile(str(key))))
    crm.fault("drop-reply")

    async def story() -> None:
        async with house.working():
            run_id = (await house.app.submit(flow, Order(number="1"), request_id="1")).run_id
            await house.until(run_id, lambda run: run.failed_tries > 0)
            key.unlink()
            house.clock.advance(60)
            run = await house.state(run_id, "parked", "completed")
        assert (run.state.value, run.reason, run.owner) == ("parked", "no_worker", "lead")
        assert str(key) in run.sentence and "op-1" in run.sentence
        shown = house.app.runs.show(run_id)["next_action"]
        assert "counterfoil worker" in shown["command"] and shown["who"]["name"] == "lead"
        tries = house.count(run_id, "in_flight")
        key.write_text("of account A")
        async with house.working():  # a worker that can read it takes it up
            await house.state(run_id, "completed")
        assert house.count(run_id, "in_flight") == tries + 1

    asyncio.run(story())
    assert len(crm.records()) == 1


def test_a_keyring_is_read_beside_the_loop(house: House, crm: SandboxProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring

    seen = set[str]()

    def asked(service: str, name: str) -> str:
        seen.add(threading.current_thread().name)
        return "planted"

    monkeypatch.setattr(keyring, "get_password", asked)
    house.found()
    flow = flow_of(house, crm.url, Bearer(Keyring("crm", "test")))

    async def story() -> None:
        async with house.working():
            run_id = (await house.app.submit(flow, Order(number="1"), request_id="1")).run_id
            await house.state(run_id, "completed")

    asyncio.run(story())
    assert seen and threading.main_thread().name not in seen


def test_secrets_of_webhooks_may_lie_in_a_file_and_in_the_keyring(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keyring

    read = set[str]()

    def asked(service: str, name: str) -> str:
        read.add(threading.current_thread().name)
        return "the new one"

    monkeypatch.setattr(keyring, "get_password", asked)
    old = tmp_path / "old"
    old.write_text("the old one\n")
    house.found()
    signed = SignedBy("github", Keyring("crm", "webhook"), SecretFile(str(old)), Env("CRM_WEBHOOK", default=""))
    house.app.receiver("desk", url="http://127.0.0.1:9", environment="test", webhook=signed)

    async def taken(secret: str, body: bytes) -> bool:
        digest = hmac.new(secret.encode(), body, "sha256").hexdigest()
        try:
            return (await house.app.receipts.take("desk", {"x-hub-signature-256": f"sha256={digest}"}, body))[1]
        except Refused as refused:
            assert refused.code == "webhook_refused"
            return False

    async def story() -> None:
        assert await taken("the old one", b'{"n": 1}') and await taken("the new one", b'{"n": 2}')
        assert not await taken("another", b'{"n": 3}') and not await taken("", b'{"n": 4}')
        assert without_secret(house.app.open()) == []
        old.unlink()
        assert without_secret(house.app.open()) == ["desk"]
        assert not await taken("the new one", b'{"n": 5}'), "as where a variable is not set: doctor says why"

    asyncio.run(story())
    assert read and threading.main_thread().name in read, "doctor reads in its own thread"
    assert read - {threading.main_thread().name}, "a message is verified beside the loop"
