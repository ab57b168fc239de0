"""Histories of Temporal of the examples, as a server wrote them: `python -m tests.replay.histories` writes them anew.

A later release must replay them: whoever changes what a workflow asks of Temporal, or in which order, breaks those that run.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from counterfoil.app import App
from counterfoil.app.opening import Founding
from counterfoil.engine.clock import Chance, SystemClock
from counterfoil.examples.onboarding.app import Folder, onboard
from counterfoil.examples.onboarding.app import app as onboarding
from counterfoil.examples.onboarding.documents import SAMPLE_FOLDERS
from counterfoil.integrations.temporal import CounterfoilPlugin, submit
from counterfoil.testing.model_server.process import ModelServerProcess
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges import temporal_app
from tests.edges.temporal_bench import benched
from tests.servers.temporal import shared

FOLDER = Path(__file__).parent / "histories"
APPS: dict[str, App] = {"onboard": onboarding, "everything": temporal_app.app, "twice": temporal_app.app}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        histories = {"onboard": asyncio.run(_onboarded(Path(folder), patch))}
        ours_folder = Path(folder) / "ours"
        ours_folder.mkdir()
        with benched(ours_folder, patch) as bench:

            async def ours() -> None:
                async with bench.worker() as client:
                    started = await bench.submit(temporal_app.everything)
                    await bench.result(started)
                    histories["everything"] = await _history(client, started.workflow_id)

            asyncio.run(ours())
    for name, history in histories.items():
        (FOLDER / f"{name}.json").write_text(history + "\n")


async def _onboarded(folder: Path, patch: pytest.MonkeyPatch) -> str:
    """A case that was sent back once, and approved in its second version."""
    patch.setenv("COUNTERFOIL_STATE", str(folder / "state"))
    name = f"h{Chance().hex(48)}"
    shutil.copytree(SAMPLE_FOLDERS / "acme", folder / "acme")
    patch.chdir(folder)  # a history names no place of the machine on which it was made
    with SandboxProcess("key", records=folder / "records.jsonl") as crm, ModelServerProcess() as model:
        patch.setenv("CRM_URL", crm.url)
        for variable, value in model.environment.items():
            patch.setenv(variable, value)
        onboarding.db = str(folder / "counterfoil.db")
        onboarding.open(Founding())
        roles = ["manager", "onboarding-lead", "head-of-sales"]
        for person in ("ana", "bob"):  # who asks for another version does not approve it
            await onboarding.people.add(person, roles=roles, secret=f"secret-of-{person}")
        client = await Client.connect(shared().address, identity="tests", plugins=[CounterfoilPlugin(onboarding)])
        async with Worker(client, task_queue=name):
            given = Folder(customer="acme", path=Path("acme"))
            started = await submit(onboarding, client, onboard, given, request_id=name, queue=name)
            first = await _open_review(started.run_id, 0)
            await onboarding.reviews.reject(
                first["review_id"], digest=first["digest"], comment="once more", ask_revision=True, by="ana",
                secret="secret-of-ana",
            )  # fmt: skip
            second = await _open_review(started.run_id, 1)
            await onboarding.reviews.approve(
                second["review_id"], digest=second["digest"], by="bob", secret="secret-of-bob"
            )
            await asyncio.wait_for(client.get_workflow_handle(started.workflow_id).result(), 60)
            history = await _history(client, started.workflow_id)
        onboarding.close()
    return history


async def _open_review(run_id: str, n: int) -> dict[str, str]:
    never, clock = asyncio.Event(), SystemClock()
    while True:
        reviews = onboarding.runs.show(run_id)["records"]["approvals"]
        if len(reviews) > n and reviews[n]["state"] == "open":
            return reviews[n]
        await clock.wait(never, clock.now_us() + 20_000)


async def _history(client: Client, workflow_id: str) -> str:
    return (await client.get_workflow_handle(workflow_id).fetch_history()).to_json()


if __name__ == "__main__":
    main()
