"""The description is fuzzed against a running server: nothing fails with 5xx, answers are as described, and a refusal writes nothing."""

import asyncio
from collections.abc import Generator
from contextlib import closing
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from counterfoil.app import App
from counterfoil.app.duties.known import DUTIES
from counterfoil.model.duty import DutyRecord
from tests.edges.api_bench import Served, served

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance,
]  # fmt: skip
EXAMPLES = 8  # of each endpoint; the whole takes less than a minute
# A refused answer is kept by design, as the evidence that somebody gave it; it decides nothing.
KEPT = {"digest_mismatch", "review_closed"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    with served(tmp_path_factory.mktemp("fuzz")) as bench:
        bench.headers()
        yield bench


@pytest.fixture(scope="module")
def described(here: Served) -> Any:
    return schemathesis.openapi.from_url(f"{here.api}/openapi.json")


def known(here: Served) -> dict[str, list[str]]:
    """Ids that exist, so that the fuzz comes past the first check."""
    return {
        "run": [run["run_id"] for run in here.data("/runs")["items"]] + ["run-1", "nothing"],
        "operation": [o["operation_id"] for o in here.data("/operations")["items"]] + ["op-1"],
        "review": [review["review_id"] for review in here.data("/reviews")["items"]] + ["rev-1"],
        "subject": [item["subject"] for item in here.data("/inbox")["items"]] + ["nothing"],
        "incident": ["inc-1"], "receiver": ["shop", "nobody"], "worker": ["wrk_"], "grant": ["gra_"], "token": ["nothing"],
        "conversation": ["conversation-1", "nothing"],
        "name": ["oscar", "nobody", "operations_unresolved"],
    }  # fmt: skip


def endpoints(described: Any) -> list[Any]:
    return [found.ok() for found in described.get_all_operations()]


@pytest.mark.timeout(300)
def test_nothing_fails_and_a_refusal_writes_nothing(here: Served, described: Any) -> None:
    ids = known(here)
    operations = endpoints(described)
    assert len(operations) > 40
    for operation in operations:
        _fuzz(here, operation, ids)


def _fuzz(here: Served, operation: Any, ids: dict[str, list[str]]) -> None:
    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
    cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(data=st.data())
    def body(data: st.DataObject) -> None:
        case = data.draw(cases)
        for name in case.path_parameters or {}:
            if name in ids and data.draw(st.booleans()):
                case.path_parameters[name] = data.draw(st.sampled_from(ids[name]))
        before = here.written()
        response = case.call(headers=here.headers(), timeout=20)
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400 and response.json()["error"]["code"] not in KEPT:
            assert here.written() == before, (operation.label, response.text)

    body()


@pytest.mark.timeout(120)
def test_without_a_token_nothing_is_answered_nor_written(here: Served, described: Any) -> None:
    before = here.written()
    for operation in endpoints(described):
        address = operation.full_path
        for name in (
            "run",
            "conversation",
            "operation",
            "review",
            "subject",
            "incident",
            "receiver",
            "worker",
            "grant",
            "token",
            "name",
        ):
            address = address.replace("{" + name + "}", "run-1")
        response = here.raw(operation.method.upper(), address, json={})
        assert response.status_code == 401, (operation.label, response.text)
        assert response.json()["error"]["code"] == "not_signed_in"
    assert here.written() == before


def test_what_the_duties_write_is_not_taken_for_a_refusals(here: Served) -> None:
    """They are due every few seconds: in the middle of another test, too."""
    here.token()  # an entry that nobody has counted yet
    before = here.written()
    with here.environment(), closing(App("fuzz", db=str(here.database))) as app:

        async def round_() -> None:
            for duty in DUTIES:
                await duty.carry_out(app, DutyRecord(duty.name, None, None, None, None, None, 0, 0))

        asyncio.run(round_())
    assert here.written() == before
