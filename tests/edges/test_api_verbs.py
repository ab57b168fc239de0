"""The API's verbs over a real socket: the same shapes as the command line, described as they are, paged and acted on."""

from base64 import b64encode
from collections.abc import Generator
from typing import Any

import pytest
from pydantic import TypeAdapter

from counterfoil.cli.shapes import SHAPES
from counterfoil.client.shapes.access import Role, Token
from counterfoil.client.shapes.base import Next, Page, Shape
from counterfoil.client.shapes.installation import (
    Hit,
    Incident,
    Me,
    Person,
    Receiver,
    Suspension,
    Unattended,
    Waiver,
    WorkerSeen,
    WritesStatus,
)
from counterfoil.client.shapes.money import Report, Statement, StatementImport
from counterfoil.client.shapes.operation import Attempt, Operation, Receipt
from counterfoil.client.shapes.records import ActDone, History, Metric
from counterfoil.client.shapes.review import Approval, Review, ReviewSummary
from counterfoil.client.shapes.run import (
    Document,
    Entry,
    EntryEvidence,
    Established,
    Message,
    Pending,
    Run,
    RunSummary,
    Submitted,
)
from counterfoil.client.shapes.tending import InboxCounts, InboxItem, InboxThing, Preview
from counterfoil.console.errors import BY_EXIT, STATUSES, status_of
from counterfoil.model.error_codes import CODES
from counterfoil.model.errors import CounterfoilError
from tests.edges.api_bench import Served, served, shown
from tests.edges.cli_shapes import missing


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    with served(tmp_path_factory.mktemp("verbs")) as bench:
        yield bench


def strictly(model: Any, value: Any) -> None:
    """It has the fields that the description names, and no other."""
    parsed = TypeAdapter(model).validate_python(value)
    assert unknown(parsed) == []


def unknown(value: Any) -> list[str]:
    """The fields that a shape does not name, anywhere in it."""
    if isinstance(value, list):
        return [found for each in value for found in unknown(each)]
    if not isinstance(value, Shape):
        return []
    own = [f"{type(value).__name__}.{name}" for name in value.model_extra or ()]
    return own + [found for name in type(value).model_fields for found in unknown(getattr(value, name))]


LISTS = [
    ("/runs", Page[RunSummary]), ("/operations", Page[Operation]), ("/reviews", Page[ReviewSummary]),
    ("/incidents", Page[Incident]), ("/inbox", Page[InboxItem]), ("/inbox/counts", InboxCounts), ("/people", Page[Person]),
    ("/roles", Page[Role]), ("/tokens", Page[Token]), ("/audit", Page[ActDone]), ("/metrics", Page[Metric]), ("/report", Report),
    ("/statements", Page[StatementImport]), ("/metrics/operations_unresolved/history", History),
    ("/runs/1/entries", Page[Entry]), ("/me", Me), ("/workers", Page[WorkerSeen]), ("/receivers", Page[Receiver]),
    ("/unattended", Page[Unattended]), ("/waivers", Page[Waiver]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "model"), LISTS, ids=[path for path, _ in LISTS])
def test_lists_are_as_described(here: Served, path: str, model: Any) -> None:
    strictly(model, here.data(path))


def test_single_things_are_as_described(here: Served) -> None:
    for run in here.data("/runs")["items"]:
        strictly(Run, here.data(f"/runs/{run['run_id']}"))
    for entry in here.data("/runs/1/entries")["items"]:
        shown_entry = here.data(f"/runs/1/entries/{entry['sequence']}")
        strictly(EntryEvidence, shown_entry)
        assert (shown_entry["digest"], shown_entry["links"]) == (entry["digest"], True)
    assert shown(here.get("/runs/1/entries/9999")) == (404, "not_found")
    for operation in here.data("/operations")["items"]:
        strictly(Operation, here.data(f"/operations/op-{operation['number']}"))
    for review in here.data("/reviews")["items"]:
        strictly(Review, here.data(f"/reviews/rev-{review['number']}"))
    strictly(Receiver, here.data("/receivers/shop"))
    strictly(WritesStatus, here.data("/writes"))
    strictly(Me, here.data("/me"))
    strictly(Page[Hit], here.data("/find", text="100"))


NAMED = {
    "NEXT": Next, "ATTEMPT": Attempt, "RECEIPT": Receipt, "APPROVAL": Approval, "REVIEW": Review, "OPERATION": Operation, "RUN": Run,
    "ESTABLISHED": Established, "PENDING": Pending, "MESSAGE": Message, "DOCUMENT": Document, "PERSON": Person, "INCIDENT": Incident,
    "SUSPENSION": Suspension, "WAIVER": Waiver, "UNATTENDED": Unattended,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_the_shapes_of_the_command_line_and_of_the_api_are_the_same(name: str) -> None:
    """What docs/reference/cli.md names is in the description, with the names that are sent."""
    blank = {field.alias or field_name: None for field_name, field in NAMED[name].model_fields.items()}
    assert missing(SHAPES[name], blank) == []


def test_the_same_as_the_command_line_says(here: Served) -> None:
    assert whole(here.data("/runs/run-1")) == whole(here.house.cli.show("run-1"))


def whole(value: Any) -> Any:
    """Without what says that something is left out; nothing is, for whoever may read it all."""
    if isinstance(value, list):
        return [whole(each) for each in value]
    if not isinstance(value, dict):
        return value
    assert not value.get("withheld")
    return {name: whole(each) for name, each in value.items() if name != "withheld"}


def test_lists_come_in_parts(here: Served) -> None:
    whole = here.data("/runs", limit=200)["items"]
    seen: list[Any] = []
    cursor = None
    while True:
        part = here.data("/runs", limit=3, **({} if cursor is None else {"cursor": cursor}))
        assert len(part["items"]) <= 3
        seen += part["items"]
        cursor = part["next_cursor"]
        if cursor is None:
            break
        assert not cursor.isdecimal()
    assert [run["run_id"] for run in seen] == [run["run_id"] for run in whole]
    other = here.data("/runs", limit=1)["next_cursor"]
    assert shown(here.get("/reviews", cursor=other)) == (400, "usage")


def test_a_run_is_submitted_once(here: Served) -> None:
    body = {"workflow": "waits", "input": {"number": "9"}, "request_id": "once"}
    first = here.post("/runs", body)
    assert first.status_code == 201
    strictly(Submitted, first.json()["data"])
    before = here.written()
    again = here.post("/runs", body)
    assert (again.status_code, again.json()["data"]["admitted"]) == (200, "existing")
    other = here.post("/runs", body | {"input": {"number": "10"}})
    assert shown(other) == (409, "request_conflict")
    assert here.written() == before


def test_an_approval_names_the_digest_it_saw(here: Served) -> None:
    review = here.data("/reviews", state="open")["items"][-1]
    entries = here.entries()
    address = f"/reviews/{review['review_id']}/approve"
    assert shown(here.post(address, {"digest": "sha256:" + "0" * 64})) == (409, "digest_mismatch")
    assert here.entries() > entries  # the answer is kept, and decides nothing
    assert shown(here.post(address, {})) == (422, "invalid_payload")
    done = here.post(address, {"digest": review["digest"], "comment": "yes"}).json()["data"]
    assert (done["state"], done["decided"]) == ("approved", "now")
    again = here.post(address, {"digest": review["digest"]}, "oscar").json()["data"]
    assert (again["state"], again["decided"]) == ("approved", "earlier")
    withdrawn = here.post(f"/reviews/{review['review_id']}/withdraw", {"comment": "no"})
    assert withdrawn.json()["data"]["state"] == "rejected"


def test_a_doubt_is_resolved_with_the_version_that_was_seen(here: Served) -> None:
    operation = here.data("/operations", status="unknown")["items"][0]
    address = f"/operations/{operation['operation_id']}/resolve"
    body = {
        "as": "succeeded", "reason": "the post office has it", "evidence": b64encode(b"a photograph").decode(),
        "expect_version": operation["version"], "reference": "L-1",
    }  # fmt: skip
    before = here.written()
    assert shown(here.post(address, body | {"expect_version": operation["version"] - 1}))[1] == "stale_version"
    assert shown(here.post(address, body | {"evidence": "not base64!"})) == (422, "invalid_payload")
    assert shown(here.post(address, {**body, "reference": None})) == (400, "usage")
    assert here.written() == before
    resolved = here.post(address, body)
    assert resolved.status_code == 200, resolved.text
    strictly(Operation, resolved.json()["data"])
    assert resolved.json()["data"]["status"] == "succeeded"
    assert (
        here.house.cli.json("operations", "show", operation["operation_id"]).data["receipts"][0]["reference"] == "L-1"
    )


def test_runs_are_moved(here: Served) -> None:
    run = here.data("/runs", workflow="waits")["items"][-1]
    signal = {"name": "go", "payload": "now", "signal_id": "s-1"}
    first, again = (here.post(f"/runs/{run['run_id']}/signals", signal).json()["data"] for _ in range(2))
    assert (first["admitted"], again["admitted"]) == ("new", "existing")
    assert shown(here.post(f"/runs/{run['run_id']}/signals", signal | {"payload": "later"})) == (409, "signal_conflict")
    cancelled = here.post(f"/runs/{run['run_id']}/cancel", {"reason": "a test"})
    assert cancelled.status_code == 200
    broken = here.data("/runs", workflow="broken")["items"][0]
    assert here.post(f"/runs/{broken['run_id']}/retry").json()["data"]["state"] == "pending"
    assert shown(here.post(f"/runs/{broken['run_id']}/resume", {})) == (409, "not_resumable")


def test_one_thing_is_tended_and_many_are_moved(here: Served) -> None:
    thing = here.data("/inbox")["items"][-1]
    address = f"/inbox/{thing['subject']}"
    assert here.post(f"{address}/take").json()["data"]["taken_by"] == "ana"
    assert shown(here.post(f"{address}/take", person="oscar")) == (409, "taken")
    said = here.post(f"{address}/comment", {"text": "asked the shop"}).json()["data"]["said"]
    assert [each["text"] for each in said] == ["asked the shop"]
    strictly(InboxThing, here.data(address))
    assert here.post(f"{address}/hand-over", {"to": "oscar"}).json()["data"]["taken_by"] == "oscar"
    assert shown(here.post(f"{address}/hand-over", {"to": "nobody"}))[1] == "unknown_owner"
    before = here.written()
    seen = here.post("/inbox/preview", {"act": "hand-over", "wanted": {"workflow": "buy"}}).json()["data"]
    strictly(Preview, seen)
    body = {
        "act": "hand-over",
        "wanted": {"workflow": "buy"},
        "count": seen["count"],
        "digest": seen["digest"],
        "to": "ana",
    }
    assert shown(here.post("/inbox/carry-out", body | {"count": seen["count"] + 1})) == (409, "selection_changed")
    assert here.written() == before
    done = here.post("/inbox/carry-out", body).json()["data"]
    assert (len(done["done"]), done["refused"]) == (seen["count"], [])


def test_a_statement_is_looked_at_before_it_is_imported(here: Served) -> None:
    content = b64encode(b"reference,amount,currency,at\nunknown-1,1.00,EUR,2026-11-29T10:00:00Z\n").decode()
    body = {"receiver": "shop", "name": "shop.csv", "content": content, "dry_run": True}
    before = here.written()
    looked = here.post("/statements/import", body)
    assert looked.status_code == 200, looked.text
    strictly(Statement, looked.json()["data"])
    assert [line["reference"] for line in looked.json()["data"]["theirs_not_ours"]] == ["unknown-1"]
    assert here.written() == before
    assert here.post("/statements/import", body | {"dry_run": False}).json()["data"]["import_id"]


def test_who_administers_grants_and_revokes(here: Served) -> None:
    wanted = {"role": "desk", "verb": "resolve", "up_to_minor": 500, "currency": "EUR"}
    grant = here.post("/roles/grants", wanted)
    assert grant.status_code == 201, grant.text
    withdrawn = here.post(f"/roles/grants/{grant.json()['data']['grant_id']}/withdraw").json()["data"]
    assert withdrawn["withdrawn_at"] is not None
    added = here.post("/people", {"name": "nina", "roles": ["desk"], "secret": "a long enough secret"})
    assert added.status_code == 201
    assert "secret" not in added.text.replace("secret_", "")
    nina = here.headers("nina")
    assert shown(here.raw("GET", "/api/v1/roles", headers=nina)) == (403, "not_permitted")
    assert shown(here.post("/tokens", {"name": "another", "days": 1})) == (403, "not_permitted")  # a token makes none
    assert here.post("/people/nina/revoke").json()["data"]["revoked_at"] is not None
    assert shown(here.raw("GET", "/api/v1/me", headers=nina)) == (401, "token_invalid")


def test_sending_is_stopped_and_goes_on(here: Served) -> None:
    body = {"reason": "a test", "receiver": "shop"}
    strictly(Suspension, here.post("/writes/suspend", body).json()["data"])
    assert here.data("/writes")["suspended"] is True
    assert here.post("/writes/resume", body).json()["data"]["lifted_by"] == "ana"
    assert shown(here.post("/writes/resume", body)) == (409, "not_suspended")
    assert shown(here.post("/writes/suspend", {"reason": "none named"})) == (400, "usage")


def test_a_receiver_is_paused_and_goes_on(here: Served) -> None:
    body = {"reason": "they move house"}
    assert shown(here.post("/receivers/shop/resume", body)) == (409, "not_paused")
    paused = here.post("/receivers/shop/pause", body).json()["data"]
    strictly(Receiver, paused)
    assert (paused["paused"]["by"], here.data("/receivers/shop")["paused"]) == ("ana", paused["paused"])
    assert here.post("/receivers/shop/resume", body).json()["data"]["paused"] is None
    assert shown(here.post("/receivers/nobody/pause", body)) == (404, "not_found")


def test_an_operation_is_waived_and_the_waiver_taken_back(here: Served) -> None:
    named = next(iter(here.data("/unattended")["items"]))["operation"]
    body = {"operation": named, "reason": "the drill runs on Monday"}
    waiver = here.post("/waivers", body | {"until": "1d"}).json()["data"]
    strictly(Waiver, waiver)
    assert (waiver["by"], waiver["stands"]) == ("ana", True)
    assert shown(here.post("/waivers", body | {"until": "91d"})) == (409, "waiver_end")
    assert here.post("/waivers/revoke", body).json()["data"]["revoked_by"] == "ana"
    assert shown(here.post("/waivers/revoke", body)) == (409, "no_waiver")


def test_every_code_has_a_status_in_one_table() -> None:
    assert set(STATUSES) <= set(CODES)
    for code, entry in CODES.items():
        status = status_of(CounterfoilError(code))
        assert status == STATUSES.get(code, BY_EXIT[entry.exit_status])
        assert 400 <= status < 600
        assert (status == 500) == (code == "defect")


def test_the_description_names_every_endpoint_with_its_refusals(here: Served) -> None:
    described = here.raw("GET", "/api/v1/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    for path, methods in described["paths"].items():
        assert path.startswith("/api/v1/")
        for method, endpoint in methods.items():
            assert endpoint["summary"] and endpoint["description"].endswith("."), (path, method)
            assert {"4XX", "5XX"} <= set(endpoint["responses"])
            success = endpoint["responses"].get("200") or endpoint["responses"]["201"]
            if path.endswith("/export"):
                assert "text/csv" in success["content"]
                continue
            assert "$ref" in success["content"]["application/json"]["schema"], (path, method)
            for parameter in endpoint.get("parameters", ()):
                asked = parameter["schema"]
                # A name in the address is not empty; a number is one.
                assert parameter["in"] != "path" or asked["type"] == "integer" or asked["minLength"] == 1
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_ready_says_what_it_stands_on(here: Served) -> None:
    assert here.raw("GET", "/healthz").json() == {"ok": True}
    ready = here.raw("GET", "/readyz")
    assert (ready.status_code, ready.json()["ok"]) == (200, True)
    names = [check["name"] for check in ready.json()["checks"]]
    assert names == ["database", "schema", "marker", "writer"]
    assert all("problem" in check for check in ready.json()["checks"])
    outside = here.raw("GET", "/readyz", headers={"X-Forwarded-For": "203.0.113.1"})
    assert all("problem" not in check for check in outside.json()["checks"])
