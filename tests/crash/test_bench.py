"""The bench that users get: one case after a lost reply in ten lines, on an application of theirs."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from counterfoil.model.run import RunState
from counterfoil.testing import Bench
from counterfoil.testing.bench import target_of
from counterfoil.testing.children import ChildFailed, Children
from tests.crash import lives, rude, story


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORY_FOLDER", str(tmp_path))


def test_one_case_after_a_lost_reply(tmp_path: Path) -> None:
    async def body() -> None:
        async with Bench(story.app, tmp_path) as bench:
            crm = await bench.sandbox("key", kind="key")
            run = await bench.submit(rude.swallowing, lives.ORDER, request_id="acme", crash_at="operation.replied")
            await bench.approve(run, by="ana")
            assert (await bench.drive(run)).state == "completed"
            assert len(crm.records) == 1
            assert run.crashes == [9]
            assert bench.stored(run).result == json.dumps(crm.records[0]["id"])

    asyncio.run(body())


def test_a_rejected_review_sends_nothing(tmp_path: Path, children: Children) -> None:
    async def body() -> None:
        async with Bench(story.app, tmp_path, children=children) as bench:
            crm = await bench.sandbox("key", kind="key")
            run = await bench.submit(rude.swallowing, lives.ORDER, request_id="acme")
            await bench.reject(run, by="oscar", comment="too much")
            await bench.drive(run)
            assert crm.records == []
            assert run.crashes == []

    asyncio.run(body())


def test_time_is_skipped_where_only_time_is_missing(tmp_path: Path, children: Children) -> None:
    async def body() -> None:
        async with Bench(story.app, tmp_path, children=children) as bench:
            waited, heard = [await bench.submit(story.waiter, lives.ORDER, request_id=name) for name in ("a", "b")]
            await bench.signal(heard, "never", story.Go(word="now"), signal_id="s-1")
            before = bench.clock.now_us()
            assert (await bench.drive(heard)).result == '"now"'
            assert (await bench.drive(waited)).state is RunState.PARKED
            assert bench.clock.now_us() - before > timedelta(days=1) // timedelta(microseconds=1)

    asyncio.run(body())


def test_a_worker_that_fails_tells_what_it_wrote(tmp_path: Path, children: Children) -> None:
    async def body() -> None:
        async with Bench(story.app, tmp_path, children=children) as bench:
            run = await bench.submit(story.waiter, lives.ORDER, request_id="a")
            run.run_id = "run_of_nobody"
            with pytest.raises(ChildFailed, match="a submitted run is stored"):
                await bench.drive(run)

    asyncio.run(body())


def test_an_application_without_a_name_is_refused() -> None:
    assert target_of(story.app) == "tests.crash.story:app"
    with pytest.raises(ChildFailed, match="global name"):
        target_of(type(story.app)("nameless"))
