"""Stories of the demo for tests: two are told at a time, in the order of the tests that look at them."""

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from counterfoil.app import App
from counterfoil.app.verification import verify
from counterfoil.examples.demo.main import APPS, folder_for, told
from counterfoil.examples.demo.options import DemoOptions
from counterfoil.examples.demo.processes import WarmProcess

AT_A_TIME = 2
LONGEST_S = 110.0

FOREIGN = (
    "COUNTERFOIL_DB",
    "COUNTERFOIL_APP",
    "COUNTERFOIL_SECRET",
    "COUNTERFOIL_CRASH_AT",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
)

Told = dict[str, Any]


@contextmanager
def apart(folder: Path) -> Iterator[pytest.MonkeyPatch]:
    """An environment without the developer's own database, keys and state."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FOREIGN:
            patch.delenv(name, raising=False)
        patch.setenv("COUNTERFOIL_STATE", str(folder))
        yield patch


@contextmanager
def telling(request: pytest.FixtureRequest, factory: pytest.TempPathFactory) -> Iterator["Stories"]:
    """What a module's fixture gives: the stories of its selected tests."""
    with apart(factory.mktemp("state")):
        stories = Stories(request, factory.mktemp("demo"))
        try:
            yield stories
        finally:
            stories.close()


class Stories:
    """Tells what the selected tests of one module ask for: those parametrised with `options`. One warm process for all."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        selected = [item for item in request.session.items if getattr(item, "module", None) is request.module]
        params = [getattr(item, "callspec", None) for item in selected]
        wanted = dict.fromkeys(
            each.params["options"] for each in params if each is not None and "options" in each.params
        )
        self._told: dict[DemoOptions, Future[Told]] = {options: Future() for options in wanted}
        self._folder = folder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=[self._tell_all()])
        self._thread.start()

    def told(self, options: DemoOptions) -> Told:
        """`data` of the demo, or what it raised."""
        return self._told[options].result(LONGEST_S)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    async def _tell_all(self) -> None:
        turns = asyncio.Semaphore(AT_A_TIME)
        name = next((options.name for options in self._told), "onboarding")
        async with WarmProcess(APPS[name], self._folder / "warm.log") as warm:
            await asyncio.gather(*(self._tell(options, n, warm, turns) for n, options in enumerate(self._told)))

    async def _tell(self, options: DemoOptions, n: int, warm: WarmProcess, turns: asyncio.Semaphore) -> None:
        async with turns:
            if self._ended.is_set():
                return
            quiet = replace(options, keep=str(self._folder / str(n)), console=Console(file=io.StringIO()))
            try:
                self._told[options].set_result(await told(quiet, folder_for(quiet), warm))
            except Exception as error:
                self._told[options].set_exception(error)


def name_of(options: DemoOptions) -> str:
    given = (options.crash_at, options.receiver, options.fault)
    return " ".join(each for each in given if each is not None) or options.name


def check_killed(story: Told, boundary: str) -> None:
    """Somebody was killed there, and another process went on."""
    assert story["crash"]["boundary"] == boundary
    assert story["crash"]["exit_signal"] == 9
    assert story["recovery"]["pid"] not in (None, story["crash"]["pid"])


def check_once(story: Told) -> None:
    """The effect exists once, by the receiver's own file, and is the one that was approved."""
    run, operation, receiver = story["run"], story["operation"], story["receiver"]
    assert (run["state"], operation["status"], story["outcome"]) == ("completed", "succeeded", "succeeded")
    (record,) = [json.loads(line) for line in Path(receiver["records_file"]).read_text().splitlines()]
    assert receiver["records"] == 1
    assert receiver["record_ids"] == [record["id"]]
    assert operation["receipts"][0]["reference"] == record["id"]
    assert record["payload_digest"] == operation["payload_digest"] == operation["approval"]["digest"]
    assert operation["approval"]["used_by"] in [attempt["attempt_id"] for attempt in operation["attempts"]]
    assert run["uncertain"] == []


def check_doubt(story: Told) -> None:
    """Nobody knows, and that is visible: an owner, a deadline, and the command that resolves it."""
    run, operation = story["run"], story["operation"]
    assert (run["state"], run["reason"], operation["status"]) == ("parked", "outcome_unknown", "unknown")
    assert story["outcome"] == "unresolved"
    assert run["owner"] == "onboarding-lead"
    assert run["deadline_at"] is not None
    assert run["uncertain"] == [operation["operation_id"]]
    assert run["next_action"]["command"].startswith(f"counterfoil operations resolve op-{operation['number']} ")
    assert f"--expect-version {operation['version']}" in run["next_action"]["command"]


def check_decided_once(story: Told) -> None:
    """The saved decision was used again: the model would say something else today."""
    model = story["model"]
    assert model["decisions"] == 1
    assert model["requests"] == model["decisions"] + model["lost"]
    assert model["next_answer_digest"] != story["operation"]["payload_digest"]


def check_found_again(story: Told) -> None:
    """The same request afterwards is the same run."""
    assert story["resubmitted"] == {"run_id": story["run"]["run_id"], "admitted": "existing"}


def check_record(data: Told) -> None:
    """The database says what its journal says."""
    with closing(App("reader", db=data["paths"]["db"])) as app:
        found = verify(app.open)
    assert (found["broken"], found["differences"]) == ([], [])
    assert found["rows_compared"] > 0
