"""What a reset must not lose, and must not tell twice: an approval, and signals of a client. On a real server."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.integrations.temporal import Patience
from tests.edges import temporal_app
from tests.edges.temporal_app import changed
from tests.edges.temporal_bench import Bench, benched


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with benched(tmp_path, monkeypatch) as bench:
        yield bench


def ended(run: dict[str, Any]) -> bool:
    return run["state"] in ("completed", "failed", "cancelled")


def heard(run: dict[str, Any], kind: str) -> int:
    """How many entries of a kind its journal holds."""
    return [entry["kind"] for entry in run["records"]["execution_state"]["entries"]].count(kind)


@pytest.mark.parametrize("to", [0, -1], ids=["before it all", "behind it all"])
@pytest.mark.parametrize("second", ["two", "one"], ids=["other words", "the same word"])
def test_an_approval_and_a_signal_survive_a_reset_exactly_once(bench: Bench, to: int, second: str) -> None:
    """The signal stands before the reset point, or Temporal sends it again behind it: it is one signal either way."""

    async def story() -> None:
        async with bench.worker() as client:
            started = await bench.submit(temporal_app.talks)
            await bench.approve(await bench.until(started, lambda run: run["reason"] == "review"))
            await bench.until(started, lambda run: run["reason"] == "signal")
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "one"})
            await bench.until(started, lambda run: heard(run, "received") == 1 and run["reason"] == "signal")
            await bench.rests(started)
            await bench.reset(started, to=to)
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": second})
            assert await bench.result(started) == ["one", second]
        run = await bench.until(started, ended)
        assert (heard(run, "signal"), heard(run, "received"), heard(run, "answer")) == (2, 2, 1)

    asyncio.run(story())
    assert (bench.records, bench.requests) == (2, 2)


def test_each_generation_comes_further_though_a_timeout_has_all_asked_again(bench: Bench) -> None:
    """What stood on record already is no progress: else it would continue as new at the same place for ever."""

    async def story() -> None:
        async with bench.worker(Patience(history=40)):
            started = await bench.submit(temporal_app.unhurried)
            assert await bench.result(started) == 12
            run = await bench.until(started, ended)
        assert run["generation"] > 1
        assert changed["counted"] == 12, "no step ran twice"

    asyncio.run(story())
