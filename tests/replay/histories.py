"""Histories of Temporal of the examples, as a server wrote them: `python -m tests.replay.histories` writes them anew.

A later release must replay them: whoever changes what a workflow asks of Temporal, or in which order, breaks those that run.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from counterfoil.app import App
from counterfoil.app.opening import Founding
from counterfoil.engine.clock import Chance, SystemClock
from counterfoil.engine.definitions import Workflow
from counterfoil.examples.onboarding.app import Folder, onboard
from counterfoil.examples.onboarding.app import app as onboarding
from counterfoil.examples.onboarding.documents import SAMPLE_FOLDERS
from counterfoil.examples.refund.app import RefundRequest, refund
from counterfoil.examples.refund.app import app as refunds
from counterfoil.integrations.temporal import CounterfoilPlugin, submit
from counterfoil.testing.model_server.process import ModelServerProcess
from counterfoil.testing.sandbox.process import SandboxProcess
from counterfoil.testing.servers.stripe_mock import KEY, PaymentProvider
from tests.edges import temporal_app
from tests.edges.temporal_bench import benched
from tests.servers.temporal import shared

FOLDER = Path(__file__).parent / "histories"
APPS: dict[str, App] = {
    "onboard": onboarding, "refund": refunds, "everything": temporal_app.app, "mended_before": temporal_app.app,
    "mended_after": temporal_app.app,
}  # fmt: skip
OURS: dict[str, Workflow[Any, Any]] = {
    "everything": temporal_app.everything, "mended_before": temporal_app.mended, "mended_after": temporal_app.mended,
}  # fmt: skip
PAID = 4900


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in APPS:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            if name in OURS:
                history = _ours(name, Path(folder), patch)
            else:
                patch.setenv("COUNTERFOIL_STATE", str(Path(folder) / "state"))
                told = _onboarded if name == "onboard" else _refunded
                history = asyncio.run(told(Path(folder), patch))
        (FOLDER / f"{name}.json").write_text(history + "\n")


def _ours(name: str, folder: Path, patch: pytest.MonkeyPatch) -> str:
    """Of the tests' application. `mended` waits for a signal; `before`: as the code was before it was patched."""
    with benched(folder, patch) as bench:
        if name == "mended_before":
            temporal_app.changed["before"] = True

        async def story() -> str:
            async with bench.worker() as client:
                started = await bench.submit(OURS[name])
                if name != "everything":
                    await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
                await bench.result(started)
                return await _history(client, started.workflow_id)

        return asyncio.run(story())


async def _onboarded(folder: Path, patch: pytest.MonkeyPatch) -> str:
    """A case that was sent back once, and approved in its second version."""
    shutil.copytree(SAMPLE_FOLDERS / "acme", folder / "acme")
    patch.chdir(folder)  # a history names no place of the machine on which it was made
    with SandboxProcess("key", records=folder / "records.jsonl") as crm:
        patch.setenv("CRM_URL", crm.url)

        async def answers(run_id: str) -> None:
            first = await _open_review(onboarding, run_id, 0)
            await onboarding.reviews.reject(
                first["review_id"], digest=first["digest"], comment="once more", ask_revision=True, by="ana",
                secret="secret-of-ana",
            )  # fmt: skip
            await _approved(onboarding, await _open_review(onboarding, run_id, 1))

        given = Folder(customer="acme", path=Path("acme"))
        return await _told(
            onboarding, onboard, given, ["manager", "onboarding-lead", "head-of-sales"], answers, folder, patch
        )


async def _refunded(folder: Path, patch: pytest.MonkeyPatch) -> str:
    """At a payment provider in its test mode, after an approval."""
    provider = PaymentProvider()
    try:
        _, charge = provider.charge(PAID)
        patch.setenv("STRIPE_URL", provider.url)
        patch.setenv("STRIPE_KEY", KEY)

        async def answers(run_id: str) -> None:
            await _approved(refunds, await _open_review(refunds, run_id, 0))

        letter = "The parcel came broken. Please refund the amount 1200 of what I paid."
        given = RefundRequest(request_number="R-1", charge=str(charge["id"]), letter=letter)
        return await _told(refunds, refund, given, ["refund-approver", "payments-oncall"], answers, folder, patch)
    finally:
        provider.close()


async def _told(
    app: App,
    workflow: Workflow[Any, Any],
    given: Any,
    roles: list[str],
    answers: Callable[[str], Awaitable[None]],
    folder: Path,
    patch: pytest.MonkeyPatch,
) -> str:
    """The history of one run of an example, answered by people."""
    name = f"h{Chance().hex(48)}"
    with ModelServerProcess() as model:
        for variable, value in model.environment.items():
            patch.setenv(variable, value)
        app.db = str(folder / "counterfoil.db")
        app.open(Founding())
        try:
            for person in ("ana", "bob"):  # who asks for another version does not approve it
                await app.people.add(person, roles=roles, secret=f"secret-of-{person}")
            client = await Client.connect(shared().address, identity="tests", plugins=[CounterfoilPlugin(app)])
            async with Worker(client, task_queue=name):
                started = await submit(app, client, workflow, given, request_id=name, queue=name)
                await answers(started.run_id)
                await asyncio.wait_for(client.get_workflow_handle(started.workflow_id).result(), 60)
                return await _history(client, started.workflow_id)
        finally:
            app.close()


async def _approved(app: App, review: dict[str, str]) -> None:
    await app.reviews.approve(review["review_id"], digest=review["digest"], by="bob", secret="secret-of-bob")


async def _open_review(app: App, run_id: str, n: int) -> dict[str, str]:
    never, clock = asyncio.Event(), SystemClock()
    while True:
        reviews = app.runs.show(run_id)["records"]["approvals"]
        if len(reviews) > n and reviews[n]["state"] == "open":
            return reviews[n]
        await clock.wait(never, clock.now_us() + 20_000)


async def _history(client: Client, workflow_id: str) -> str:
    return (await client.get_workflow_handle(workflow_id).fetch_history()).to_json()


if __name__ == "__main__":
    main()
