"""The log names what happened, and nothing that anybody wrote: planted strings are looked for in every line."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from counterfoil.app.logs import set_up, what_goes_wrong
from counterfoil.engine.port import Run
from counterfoil.engine.problem_log import log
from counterfoil.model.errors import Refused
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import asked, submit
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.test_decisions import CountingAgent
from tests.engine.writes import create_case

PLANTED = ("planted-payload", "planted-comment", "planted-problem", "planted-parameter", "planted-login", SECRET)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    before = (log.level, log.propagate, list(log.handlers))
    made = io.StringIO()
    yield made
    log.level, log.propagate, log.handlers = before
    log.setLevel(before[0])


def story_of(house: House) -> Any:
    operation = create_case(house.app, review=True)
    tries: list[int] = []

    async def failing(number: str) -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("planted-problem: " + number)
        return number

    @house.app.workflow(version=1, budget=BUDGET)
    async def whole(run: Run, order: Order) -> str:
        await run.step(failing, order.number)
        await run.decide(CountingAgent(), order, prompt_version="1")
        return (await run.perform(operation, order)).reference

    return whole


async def lived(house: House, crm: SandboxProcess) -> str:
    house.found()
    crm.fault("drop-reply")
    workflow = story_of(house)
    async with house.working():
        run_id = await submit(house, workflow, Order(number="planted-payload"), "r")
        await house.until(run_id, lambda _: house.count(run_id, "try_failed") == 1)
        house.clock.advance(60)
        review = await asked(house, run_id)
        await house.app.reviews.approve(
            review.review_id, digest=review.digest, by="ana", secret=SECRET, comment="planted-comment"
        )
        await house.until(run_id, lambda _: [o.attempts for o in house.operations(run_id)] == [1])
        await house.state(run_id, "waiting")
        house.clock.advance(2)
        await house.state(run_id, "completed")
    return run_id


def test_json_lines_have_their_fields_and_nothing_that_was_written(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO
) -> None:
    set_up("json", stream)
    with SandboxProcess("key") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        run_id = asyncio.run(lived(house, crm))
        (operation,) = house.operations(run_id)
        house.app.close()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert all({"at", "level", "message", "run", "operation", "case", "worker"} <= set(line) for line in lines)
    assert {line["run"] for line in lines} == {run_id}
    kinds = [line["kind"] for line in lines]
    assert [kinds.count(kind) for kind in ("submitted", "in_flight", "classified", "closed", "finished")] == [
        1,
        2,
        2,
        1,
        1,
    ]
    sends = [line for line in lines if line["kind"] == "in_flight"]
    assert {line["operation"] for line in sends} == {operation.operation_id}
    assert [line["case"] for line in sends] == ["P", "R"], "never sent, and everything allows it; harmless to repeat"
    assert [line["case"] for line in lines if line["kind"] == "closed"] == ["E"]
    assert all(str(line["worker"]).startswith("wrk_") for line in sends)
    assert not [word for word in PLANTED if word in stream.getvalue()]


def test_text_lines_say_the_same(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> None:
    set_up("text", stream)
    with SandboxProcess("key") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        run_id = asyncio.run(lived(house, crm))
        house.app.close()
    lines = stream.getvalue().splitlines()
    (finished,) = [line for line in lines if "finished: completed" in line]
    assert f"run={run_id}" in finished and "state=completed" in finished
    assert not [word for word in PLANTED if word in stream.getvalue()]


def test_what_an_exception_says_is_not_logged_and_an_address_loses_its_parameters(stream: io.StringIO) -> None:
    for form in ("json", "text"):
        set_up(form, stream)
        try:
            raise ConnectionError("https://planted-login:x@host/?k=planted-parameter planted-problem")
        except ConnectionError as problem:
            log.exception("run %s: %s", "run_1", problem)
        log.error("asked https://planted-login:x@host/cases?key=planted-parameter&b=2, why?")
        log.error("the database: %s", Refused("usage", problem="planted-problem"))
    said = stream.getvalue()
    assert "ConnectionError" in said and "test_logs.py" in said and "Refused(usage)" in said and "https://" in said
    assert not [word for word in PLANTED if word in said]
    assert json.loads(said.splitlines()[0])["error"] == "ConnectionError"


@pytest.mark.parametrize("form", ["json", "text"])
def test_an_address_cannot_write_a_line_of_its_own(stream: io.StringIO, form: str) -> None:
    set_up(form, stream)
    path = "/runs/a\n2026-01-01 info forged\x1b[2J\x9b2J\u2028\r"
    log.info("%s %s %d", "GET", path, 404, extra={"counterfoil": {"path": path}})
    said = stream.getvalue()
    assert said.endswith("\n") and said[:-1].isprintable() and "forged" in said
    if form == "json":
        assert json.loads(said)["path"] == path


def test_without_a_form_only_what_goes_wrong_is_logged_and_not_what_it_says(stream: io.StringIO) -> None:
    before = (log.level, log.propagate, list(log.handlers))
    log.handlers.clear()
    with what_goes_wrong(stream):
        log.info("finished")
        try:
            raise ValueError("planted-problem")
        except ValueError:
            log.exception("a defect")
    assert log.handlers == [] and log.propagate
    said = stream.getvalue()
    assert "a defect" in said and "ValueError" in said and "finished" not in said
    assert not [word for word in PLANTED if word in said]
    log.handlers.extend(before[2])


def test_nothing_is_read_while_nobody_listens(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a listener an entry is not even looked at."""
    from counterfoil.app import logs

    monkeypatch.setattr(logs.EntryLog, "_tell", lambda *_: pytest.fail("nobody listens"))
    assert not log.isEnabledFor(logging.INFO)

    @house.app.workflow(version=1, budget=BUDGET)
    async def one(run: Run, order: Order) -> int:
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            await house.state(await submit(house, one, Order(number="1"), "r"), "completed")

    asyncio.run(story())


def test_an_unknown_form_is_refused(stream: io.StringIO) -> None:
    with pytest.raises(Refused) as refused:
        set_up("xml", stream)
    assert refused.value.code == "usage"
