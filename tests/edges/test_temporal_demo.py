"""The first story of the onboarding on a real server of Temporal: the same workflow file, the same fields, one record."""

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from counterfoil.examples.demo.main import run_demo
from counterfoil.examples.demo.options import DemoOptions
from tests.edges import stories
from tests.servers.temporal import shared


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """Told by us and by Temporal, each killed when the receiver has accepted."""
    with stories.apart(tmp_path_factory.mktemp("state")) as patch:
        patch.setenv("COUNTERFOIL_TEMPORAL_ADDRESS", shared().address)

        def embedded() -> Any:
            folder = tmp_path_factory.mktemp("embedded")
            return run_demo(
                DemoOptions(crash_at="operation.replied", keep=str(folder), console=Console(file=io.StringIO()))
            )

        def temporal() -> Any:
            """By the command as it is typed."""
            command = [sys.executable, "-m", "counterfoil", "demo", "onboarding", "--engine", "temporal", "--json"]
            more = ["--crash-at", "operation.replied", "--keep", str(tmp_path_factory.mktemp("temporal"))]
            told = subprocess.run([*command, *more], check=False, capture_output=True, text=True)
            assert told.returncode == 0, told.stderr
            return json.loads(told.stdout)["data"]

        async def tell_both() -> list[Any]:
            return await asyncio.gather(*(asyncio.to_thread(tell) for tell in (embedded, temporal)))

        ours, theirs = asyncio.run(tell_both())
        yield ours, theirs


def test_the_same_fields(both: tuple[Any, Any]) -> None:
    ours, theirs = both
    assert ours["as_expected"] is True  # of the command its exit status says so
    assert fields(theirs["stories"]) == fields(ours["stories"])
    assert [story["engine"] for story in theirs["stories"]] == ["temporal"]


def test_one_record_though_the_worker_was_killed_when_it_had_been_accepted(both: tuple[Any, Any]) -> None:
    (story,) = both[1]["stories"]
    stories.check_killed(story, "operation.replied")
    stories.check_once(story)
    stories.check_decided_once(story)
    stories.check_found_again(story)
    stories.check_record(both[1])
    assert story["receiver"]["requests"] == 2, "repeated under its key"
    assert story["run"]["temporal"]["workflow_id"] == "onboard:onboarding-acme"


def fields(value: Any, place: str = "") -> set[str]:
    """Every place in a document, whatever stands there. What one engine alone records in its journal is left out."""
    if place.endswith((".entries", ".temporal", ".evidence")):
        return {place}
    if isinstance(value, dict):
        return {place}.union(*(fields(each, f"{place}.{name}") for name, each in value.items()))
    if isinstance(value, list):
        return {place}.union(*(fields(each, f"{place}[]") for each in value))
    return {place}


def test_what_is_compared_can_differ() -> None:
    assert fields({"a": [{"b": 1}]}) != fields({"a": [{"c": 1}]})
