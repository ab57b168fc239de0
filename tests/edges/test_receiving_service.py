"""A real service with `counterfoil.receiving`, killed, hung up on, asked by hand, probed and drilled."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from counterfoil.connectors.drilling import Drill, play_all
from counterfoil.receiving import contract_text
from tests.edges.cli_bench import Cli, installed
from tests.edges.orders_service import PROMISE, OrdersService
from tests.edges.receiving_drilled import DRILLS, REFUSED
from tests.servers.postgres import shared


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OrdersService]:
    folder = tmp_path_factory.mktemp("service")
    server = shared() if request.param == "postgres" else None
    url = f"sqlite:///{folder / 'service.db'}" if server is None else server.url()
    served = OrdersService(url, folder / "said")
    yield served
    served.close()
    if server is not None:
        server.drop(url)


@pytest.fixture(autouse=True)
def nothing_said(request: pytest.FixtureRequest) -> None:
    if "service" in request.fixturenames:
        request.getfixturevalue("service").clear()


# --- killed ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("where", "committed"), [("change", False), ("commit", False), ("answer", True)])
def test_killed_and_started_again_it_has_all_or_nothing(service: OrdersService, where: str, committed: bool) -> None:
    item = f"killed-{where}"
    service.say("die", where)
    with pytest.raises(httpx2.TransportError):
        service.place(item, item)
    assert service.placed(item) == committed
    assert service.look(item)["state"] == ("answered" if committed else "absent")
    again = service.place(item, item)
    assert (again.status_code, again.headers["receiving-answer"]) == (201, "replayed" if committed else "first")
    assert service.placed(item) == 1


# --- clients --------------------------------------------------------------------------------------------------------------


def request(key: str, body: bytes, declared: int | None = None) -> bytes:
    length = len(body) if declared is None else declared
    head = f"POST /orders HTTP/1.1\r\nHost: orders\r\nAuthorization: Bearer of-a-test\r\nIdempotency-Key: {key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode() + body


def test_a_client_that_hangs_up_has_placed_it_or_not(service: OrdersService) -> None:
    with socket.create_connection(("127.0.0.1", service.port)) as client:
        client.sendall(request("hung-up", b'{"item": "hung-up"}'))
    answers = [service.place("hung-up", "hung-up") for _ in range(2)]
    assert answers[-1].headers["receiving-answer"] in ("replayed", "in_progress")
    while answers[-1].status_code == 409:
        answers.append(service.place("hung-up", "hung-up"))
    assert answers[-1].json()["item"] == "hung-up" and service.placed("hung-up") == 1


def test_half_a_request_is_none(service: OrdersService) -> None:
    with socket.create_connection(("127.0.0.1", service.port)) as client:
        client.sendall(request("half", b'{"item": "half"}'[:9], declared=16))
    assert service.look("half")["state"] == "absent"
    assert service.place("half", "half").headers["receiving-answer"] == "first" and service.placed("half") == 1


def test_headers_and_spaces_may_come_otherwise(service: OrdersService) -> None:
    first = service.place("written", "written")
    otherwise = service.client.post(
        "/orders",
        content=b'{ "item"\t:\n"written" }',
        headers={"X-Trace": "1", "idempotency-key": "written", "content-type": "application/json"},
    )
    assert (otherwise.status_code, otherwise.content) == (201, first.content)
    assert otherwise.headers["receiving-answer"] == "replayed" and service.placed("written") == 1


def test_many_clients_at_once_place_one(service: OrdersService) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.place("many", "many"), range(8)))
    assert [answer.headers["receiving-answer"] for answer in answers].count("first") == 1
    assert {answer.status_code for answer in answers} <= {201, 409, 503} and service.placed("many") == 1


def test_what_is_refused_before_or_inside(service: OrdersService) -> None:
    post = service.client.post
    keyed = {"Idempotency-Key": "refused"}
    told = [
        post("/orders", json={"item": "x"}),
        post("/orders", json={"item": "x"}, headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")]),
        post("/orders", json={"item": 1}, headers=keyed),
        post("/orders", json={"item": "x"}, headers={**keyed, "Authorization": ""}),
        post("/orders", json={"item": "nothing"}, headers=keyed),
        post("/orders", json={"item": "nothing"}, headers=keyed),
        post("/orders", json={"item": "x"}, headers=keyed),
    ]
    seen = [(answer.status_code, answer.headers.get("receiving-answer")) for answer in told]
    assert seen == [
        (400, "bad_key"), (400, "bad_key"), (422, None), (401, None), (409, "first"), (409, "replayed"), (422, "mismatch"),
    ]  # fmt: skip
    assert told[5].json() == {"detail": "sold out"} and service.placed("nothing") == service.placed("x") == 0


def test_lookups_are_each_tenants_own(service: OrdersService) -> None:
    service.place("mine", "mine")
    seen = service.look("mine")
    assert (seen["state"], seen["status"], seen["answer"]["item"], seen["holds"]) == ("answered", 201, "mine", True)
    other = {"Authorization": "Bearer of-another"}
    there = service.client.get(PROMISE.lookups, params={"key": "mine"}, headers=other).json()
    assert (there["state"], there["holds"]) == ("absent", False)
    assert service.client.get(PROMISE.lookups, params={"key": "a b"}).status_code == 400
    assert service.client.get(PROMISE.lookups, params={"key": "x"}, headers={"Authorization": ""}).status_code == 401
    assert service.client.get(f"{PROMISE.lookups}/contract").text == contract_text(PROMISE)


# --- probed ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return installed(tmp_path_factory.mktemp("probing"))


def probed(cli: Cli, service: OrdersService, contract: str) -> Any:
    (cli.folder / "orders.toml").write_text(contract, "utf-8")
    (cli.folder / "order.json").write_text(json.dumps({"item": "probe"}))
    cli.environ["ORDERS_TOKEN"] = "of-a-test"
    words = f"receivers probe {service.url} --path /orders --field item --test-mode Receiving-Mode=test --wait 0"
    words += " --confirm 127.0.0.1 --token-env ORDERS_TOKEN --lookup /idempotency-keys?key={key}"
    files = ["--entry", str(cli.folder / "orders.toml"), "--body", str(cli.folder / "order.json")]
    return cli.json(*words.split(), *files)


def test_its_contract_holds_and_a_probe_finds_no_difference(cli: Cli, service: OrdersService) -> None:
    seen = probed(cli, service, service.client.get(f"{PROMISE.lookups}/contract").text)
    assert (seen.status, seen.data["differences"]) == (0, [])
    observed = seen.data["observed"]
    assert (observed["same_key"], observed["marked"], observed["other_body"]) == ("one effect", True, "rejects")
    assert observed["concurrent"] in ("one effect", "one is refused") and observed["visible_after_seconds"] is not None
    checked = cli.json("receivers", "check", str(cli.folder / "orders.toml"))
    assert checked.status == 0 and checked.data["items"][0]["gaps"] == []


def test_a_contract_that_it_does_not_keep_is_found(cli: Cli, service: OrdersService) -> None:
    wrong = contract_text(PROMISE).replace('other_body = "rejects"', 'other_body = "replays"')
    wrong = wrong.replace(
        'replay_marker = { "receiving-answer" = "replayed" }', 'replay_marker = { "replayed" = "true" }'
    )
    seen = probed(cli, service, wrong.replace('means = "key_mismatch"', 'means = "refused"'))
    assert seen.status == 1
    assert {each["attribute"] for each in seen.data["differences"]} == {"key.other_body", "key.replay_marker"}


# --- drilled end to end -----------------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)  # a life or two of a worker for each case
@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.connector)
def test_one_record_or_a_visible_doubt(drill: Drill, tmp_path: Path) -> None:
    said = play_all(drill, tmp_path)
    assert said["verdict"] == "pass", json.dumps(said, indent=1)
    assert [case["records"] for case in said["cases"]] == [1] * len(drill.cases)


def test_nothing_comes_of_a_key_that_was_refused(tmp_path: Path) -> None:
    """The operation is failed, by case H: the service keeps the refusal under the key, so it speaks for every try."""
    (case,) = play_all(REFUSED, tmp_path)["cases"]
    # No doubt is left: the workflow does not answer the refusal, so its run waits for a person with nothing in doubt.
    assert (case["records"], case["reasons"]) == (0, ["a doubt stands that nobody is shown"])
