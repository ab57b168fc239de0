"""Drafts of an onboarding case: what was approved is what is sent, whatever happened to the folder and the worker since."""

import asyncio
import json
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from counterfoil import settings
from counterfoil.app import App
from counterfoil.app.located import InFile
from counterfoil.engine.clock import SystemClock
from counterfoil.examples.demo.ledger import Ledger
from counterfoil.examples.demo.onboarding import APP
from counterfoil.examples.demo.processes import Child, Commands, WarmProcess
from counterfoil.examples.onboarding.documents import SAMPLE_FOLDERS
from counterfoil.model.run import RunState
from counterfoil.testing.model_server.process import ModelServerProcess
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges import stories

REQUEST = "acme"


@dataclass
class Office:
    """One database, its people at the command line, a worker when one is hired, a CRM and a model that count."""

    commands: Commands
    app: App
    folder: Path
    crm: SandboxProcess
    model: ModelServerProcess

    async def submit(self) -> None:
        file = self.commands.folder / "input.json"
        file.write_text(json.dumps({"customer": "acme", "path": str(self.folder)}))
        _ = (await self.commands.run("submit", "onboard", "--input", str(file), "--request-id", REQUEST)).data

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Child]:
        hired = await self.commands.worker()
        yield hired
        await self.commands.stop(hired)

    async def until(self, reached: Callable[[], bool]) -> None:
        never, clock = asyncio.Event(), SystemClock()
        async with asyncio.timeout(60):
            while not reached():
                await clock.wait(never, clock.now_us() + 20_000)

    def waits_for_draft(self, version: int) -> bool:
        """The review is open and the worker has let go of the run."""
        review = self.open_review()
        return self.state() is RunState.WAITING and review is not None and review.proposal_version == version

    def open_review(self) -> Any:
        run = Ledger(self.app).run(REQUEST)
        return None if run is None else Ledger(self.app).open_review(run.run_id)

    def state(self) -> RunState:
        run = Ledger(self.app).run(REQUEST)
        assert run is not None
        return run.state

    def ended(self) -> bool:
        return self.state().ended

    def run(self) -> Any:
        run = Ledger(self.app).run(REQUEST)
        assert run is not None
        return self.app.runs.show(run.run_id)

    async def answer(self, what: str, review: Any, *more: str) -> Any:
        words = (
            "reviews",
            what,
            review.review_id,
            "--by",
            "oscar" if what == "approve" else "ana",  # who asks for another version does not approve it
            "--comment",
            f"about draft {review.proposal_version}",
        )
        return (await self.commands.run(*words, *more)).document


@asynccontextmanager
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Everything, with the request submitted and nobody at work."""
    kept, folder = tmp_path / "kept", tmp_path / "acme"
    kept.mkdir()
    shutil.copytree(SAMPLE_FOLDERS / "acme", folder)
    with stories.apart(tmp_path / "state"), SandboxProcess("key") as crm, ModelServerProcess() as model:
        environment = {**settings.environment(), **model.environment, "CRM_URL": crm.url}
        app = App("reader", db=str(kept / "counterfoil.db"))
        async with WarmProcess(APP, kept / "warm.log") as warm:
            commands = Commands(warm, kept, InFile(kept / "counterfoil.db"), environment, kept / "log")
            _ = (await commands.run("init", str(kept), "--app", APP)).data
            desk = Office(commands, app, folder, crm, model)
            await desk.submit()
            yield desk
        app.close()


async def to_draft_three(desk: Office) -> Any:
    """Two revisions asked for; draft 3 waits, and its worker is gone."""
    async with desk.worker():
        for version in (1, 2):
            await desk.until(partial(desk.waits_for_draft, version))
            review = desk.open_review()
            answered = await desk.answer("reject", review, "--digest", review.digest, "--ask-revision")
            assert answered["data"]["state"] == "rejected"
        await desk.until(lambda: desk.waits_for_draft(3))
    return desk.open_review()


def test_the_approved_draft_is_sent_though_the_folder_changed_meanwhile(tmp_path: Path) -> None:
    async def told() -> None:
        async with office(tmp_path) as desk:
            review = await to_draft_three(desk)
            assert (await desk.answer("approve", review, "--digest", review.digest))["data"]["state"] == "approved"
            sources = desk.app.reviews.show(review.review_id)["sources"]
            (desk.folder / "new-owner.md").write_text("Company: Somebody Else Ltd\n")
            (desk.folder / "company-profile.md").write_text("Company: Changed GmbH\n")
            (desk.folder / "ownership.csv").unlink()
            async with desk.worker():
                await desk.until(desk.ended)
            run = desk.run()
            (operation,) = run["records"]["operations"]
            (record,) = desk.crm.records()
            assert (run["state"], operation["proposal_version"]) == ("completed", 3)
            assert record["payload_digest"] == review.digest == operation["payload_digest"]
            assert desk.model.requests_answered() == 3, "no model was asked again"
            assert desk.app.reviews.show(review.review_id)["sources"] == sources
            assert {source["name"] for source in sources} == {path.name for path in (SAMPLE_FOLDERS / "acme").iterdir()}
            for source in sources:
                kept = desk.app.open().artifacts.read(source["digest"])
                assert kept == (SAMPLE_FOLDERS / "acme" / source["name"]).read_bytes()

    asyncio.run(told())


def test_a_fourth_draft_is_reviewed_by_itself(tmp_path: Path) -> None:
    async def told() -> None:
        async with office(tmp_path) as desk:
            third = await to_draft_three(desk)
            assert (await desk.answer("approve", third, "--digest", third.digest))["data"]["state"] == "approved"
            withdrawn = await desk.answer("withdraw", third, "--ask-revision")
            assert withdrawn["ok"], withdrawn
            async with desk.worker():
                await desk.until(lambda: desk.waits_for_draft(4))
                fourth = desk.open_review()
                assert fourth.review_id != third.review_id
                assert fourth.digest != third.digest
                late = await desk.answer("approve", third, "--digest", third.digest)
                assert late["error"]["code"] == "review_closed"
                crossed = await desk.answer("approve", fourth, "--digest", third.digest)
                assert crossed["error"]["code"] == "digest_mismatch"
                assert desk.waits_for_draft(4)
                assert desk.crm.requests() == [], "the approval of draft 3 authorises nothing"
                assert (await desk.answer("approve", fourth, "--digest", fourth.digest))["data"]["state"] == "approved"
                await desk.until(desk.ended)
            (record,) = desk.crm.records()
            assert record["payload_digest"] == fourth.digest
            assert desk.run()["records"]["operations"][0]["approval"]["proposal_version"] == 4

    asyncio.run(told())


def test_documents_that_vanish_after_reading_change_nothing_for_a_recovered_run(tmp_path: Path) -> None:
    async def told() -> None:
        async with office(tmp_path) as desk:
            desk.commands.crash.boundary = "before:decision.asked"
            worker = await desk.commands.worker()
            assert await worker.ended == -signal.SIGKILL
            desk.commands.crash.note(worker.pid, await worker.ended)
            shutil.rmtree(desk.folder)
            async with desk.worker():
                await desk.until(lambda: desk.waits_for_draft(1))
            shown = desk.app.reviews.show(desk.open_review().review_id)
            assert shown["payload"]["company"] == "Acme Logistics GmbH"
            assert len(shown["sources"]) == len(list((SAMPLE_FOLDERS / "acme").iterdir()))

    asyncio.run(told())


def test_a_rejection_without_a_wish_parks_the_run(tmp_path: Path) -> None:
    async def told() -> None:
        async with office(tmp_path) as desk:
            async with desk.worker():
                await desk.until(lambda: desk.waits_for_draft(1))
                review = desk.open_review()
                assert (await desk.answer("reject", review, "--digest", review.digest))["data"]["state"] == "rejected"
                await desk.until(lambda: desk.state() is RunState.PARKED)
            run = desk.run()
            assert run["reason"] == "review_rejected"
            assert run["records"]["operations"][0]["status"] == "failed"
            assert desk.crm.requests() == []

    asyncio.run(told())


def test_a_hostile_document_is_a_clear_end(tmp_path: Path) -> None:
    async def told() -> None:
        async with office(tmp_path) as desk:
            (desk.folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
            async with desk.worker():
                await desk.until(lambda: desk.state() is RunState.PARKED)
            run = desk.run()
            assert run["reason"] == "step_failed"
            assert run["failure"]["code"] == "document_malformed"
            assert "broken.pdf" in run["failure"]["message"]

    asyncio.run(told())
