"""This code replays what a server of Temporal stored of the examples (tests/replay/histories.py writes it)."""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from counterfoil.integrations.temporal import CounterfoilPlugin
from tests.replay.histories import APPS, FOLDER

STORED = sorted(path.stem for path in FOLDER.glob("*.json"))


def replayed(name: str, change: Callable[[dict[str, Any]], None] = lambda history: None) -> Exception | None:
    """What the replay of a stored history says; None: the same."""
    history = json.loads((FOLDER / f"{name}.json").read_text())
    change(history)

    async def replay() -> Exception | None:
        replayer = Replayer(workflows=[], plugins=[CounterfoilPlugin(APPS[name])])
        result = await replayer.replay_workflow(
            WorkflowHistory.from_json(f"replay-of-{name}", history), raise_on_replay_failure=False
        )
        return result.replay_failure

    return asyncio.run(replay())


def test_the_examples_are_there() -> None:
    assert {"onboard", "refund", "everything", "mended_before", "mended_after"} <= set(STORED)


def test_the_patched_step_is_in_one_of_the_two_alone() -> None:
    """Both are replayed by the code as it is now: `temporalio.workflow.patched` says which of them has it."""
    patched = [name for name in ("mended_before", "mended_after") if "checks first" in steps(name)]
    assert patched == ["mended_after"]


def steps(name: str) -> str:
    """What a history says of its patches, whose details are encoded."""
    details = [
        payload["data"]
        for event in json.loads((FOLDER / f"{name}.json").read_text())["events"]
        for payloads in event.get("markerRecordedEventAttributes", {}).get("details", {}).values()
        for payload in payloads["payloads"]
    ]
    return " ".join(base64.b64decode(each).decode() for each in details)


@pytest.mark.parametrize("name", STORED)
def test_is_replayed_by_this_code(name: str) -> None:
    assert replayed(name) is None


def test_another_order_is_found() -> None:
    """The activity that stands first is another one: this code would have asked for something else."""

    def other(history: dict[str, Any]) -> None:
        first = next(e for e in history["events"] if "activityTaskScheduledEventAttributes" in e)
        first["activityTaskScheduledEventAttributes"]["activityType"]["name"] = "counterfoil.perform"

    assert replayed("onboard", other) is not None
